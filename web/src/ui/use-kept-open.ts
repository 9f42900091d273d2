import { useState } from 'react'

const open = new Map<string, boolean>()

/** Whether a part of the page is open, which it still is after Back. */
export function useKeptOpen(name: string, first = false): [boolean, (open: boolean) => void] {
  const [isOpen, setOpen] = useState(first || (open.get(name) ?? false))
  return [
    isOpen,
    (next) => {
      open.set(name, next)
      setOpen(next)
    },
  ]
}
