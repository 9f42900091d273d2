import { Link } from '@tanstack/react-router'
import { ChevronDown } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { Action } from './action.ts'
import { OpenMenu } from './open-menu.tsx'

const entry =
  'flex w-full cursor-pointer items-center gap-1.5 rounded px-2 py-1.5 pointer-coarse:py-2.5 text-left outline-none data-highlighted:bg-hover data-disabled:opacity-50'

/** The menu of `Actions`; it begins open. */
export function ActionsMenu({ actions }: { actions: readonly Action[] }) {
  return (
    <OpenMenu
      label={
        <>
          More <ChevronDown className="size-3.5" aria-hidden="true" />
        </>
      }
      align="start"
    >
      {actions.map((action) =>
        'link' in action ? (
          <DropdownMenu.Item key={action.key} asChild>
            <Link {...action.link} className={entry}>
              {action.label}
            </Link>
          </DropdownMenu.Item>
        ) : (
          <DropdownMenu.Item
            key={action.key}
            className={`${entry} ${action.look === 'danger' ? 'text-failed' : ''}`}
            disabled={action.disabled}
            onSelect={action.onSelect}
          >
            {action.label}
          </DropdownMenu.Item>
        ),
      )}
    </OpenMenu>
  )
}
