import { Link } from '@tanstack/react-router'
import { ChevronDown, X } from 'lucide-react'
import type { Action } from './action.ts'
import type { ActionsMenu } from './actions-menu.tsx'
import { Button, buttonLook } from './controls.tsx'
import { OpenLater } from './open-later.tsx'

const load = (): Promise<typeof ActionsMenu> => import('./actions-menu.tsx').then((file) => file.ActionsMenu)

/** A cross on a phone, where the word would need a second row. */
export const ClearSelection = ({ onClick }: { onClick: () => void }) => (
  <Button look="quiet" className="max-sm:px-1.5" onClick={onClick}>
    <X className="size-4 sm:hidden" aria-hidden="true" />
    <span className="max-sm:sr-only">Clear</span>
  </Button>
)

/** What can be done with a selection, side by side; on a phone one menu. */
export function Actions({ actions }: { actions: readonly Action[] }) {
  return (
    <>
      {actions.map((action) =>
        'link' in action ? (
          <Link
            key={action.key}
            {...action.link}
            title={action.title}
            className={`${buttonLook()} max-sm:hidden`}
          >
            {action.label}
          </Link>
        ) : (
          <Button
            key={action.key}
            look={action.look ?? 'plain'}
            className="max-sm:hidden"
            title={action.title}
            disabled={action.disabled}
            aria-haspopup={action.opensDialog ? 'dialog' : undefined}
            onClick={action.onSelect}
          >
            {action.label}
          </Button>
        ),
      )}
      <span className="sm:hidden">
        <OpenLater load={load} given={{ actions }} className={buttonLook()}>
          More <ChevronDown className="size-3.5" aria-hidden="true" />
        </OpenLater>
      </span>
    </>
  )
}
