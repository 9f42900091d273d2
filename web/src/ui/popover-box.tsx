import { Popover } from 'radix-ui'
import { type ButtonHTMLAttributes, type ReactNode, useState } from 'react'

export interface PopoverProps {
  trigger: ButtonHTMLAttributes<HTMLButtonElement>
  /** The accessible name of the popover. */
  label: string
  align: 'start' | 'end'
  className: string
  /** The surrounding dialog: elements outside of a modal dialog cannot be clicked. */
  container?: HTMLElement | undefined
  children: (close: () => void) => ReactNode
}

/** A button with an open popover. Loaded when first opened: see `PopoverLater`. */
export function PopoverBox({ trigger, label, align, className, container, children }: PopoverProps) {
  const [open, setOpen] = useState(true)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger {...trigger} />
      <Popover.Portal container={container}>
        <Popover.Content
          align={align}
          collisionPadding={8}
          aria-label={label}
          className={`z-30 rounded-md border border-line bg-raised shadow-lg ${className}`}
        >
          {children(() => setOpen(false))}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}
