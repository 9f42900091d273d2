import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'
import { buttonLook } from './controls.tsx'

/** The button and the box of a menu that `OpenLater` loads. It begins open. */
export function OpenMenu(props: { label: ReactNode; align: 'start' | 'end'; children: ReactNode }) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger className={buttonLook()}>{props.label}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={props.align}
          sideOffset={4}
          className="z-30 rounded-md border border-line bg-raised p-1 shadow-lg"
        >
          {props.children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
