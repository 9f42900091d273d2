import { Popover } from 'radix-ui'
import { type ButtonHTMLAttributes, type ReactNode, useState } from 'react'

export interface PopoverProps {
  trigger: ButtonHTMLAttributes<HTMLButtonElement>
  /** Names what opens. */
  label: string
  align: 'start' | 'end'
  className: string
  /** A dialog that it is in: outside of one nothing can be clicked. */
  container?: HTMLElement | undefined
  children: (close: () => void) => ReactNode
}

/** A button and the open box below it. Loaded when it is first opened: see `PopoverLater`. */
export function PopoverBox({ trigger, label, align, className, container, children }: PopoverProps) {
  const [open, setOpen] = useState(true)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger {...trigger} />
      <Popover.Portal container={container}>
        <Popover.Content
          align={align}
          aria-label={label}
          className={`z-30 rounded-md border border-line bg-raised shadow-lg ${className}`}
        >
          {children(() => setOpen(false))}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}
