import { ChevronDown } from 'lucide-react'
import type { User } from '../lib/api/identity.ts'
import { buttonLook } from '../ui/controls.tsx'

/** The button of the account menu, before and after the menu's code is loaded. */
export const userButton = (me: User) => ({
  className: buttonLook('quiet'),
  'aria-label': `Account of ${me.name}`,
  children: (
    <>
      <span className="max-w-32 truncate max-sm:hidden">{me.name}</span>
      <span className="uppercase sm:hidden">{[...me.name][0]}</span>
      <ChevronDown className="size-3.5" aria-hidden="true" />
    </>
  ),
})
