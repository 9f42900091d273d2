import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { itemAt } from '../../lib/checked.ts'
import { count, some } from '../../lib/words.ts'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Name, wholeName } from '../../ui/name.tsx'
import { part } from '../../ui/part.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { useKeptOpen } from '../../ui/use-kept-open.ts'
import type { Need } from './needs.ts'
import { Section } from './section.tsx'
import { useDismissed } from './use-dismissed.ts'
import { useNeeds } from './use-needs.ts'

const RerunFrom = part(() => import('../batch/rerun-from.tsx').then((file) => file.RerunFrom))
const MAX_ROWS = 40

/** Dismissed problems by what they are and when they happened. */
const nameOf = (need: Need): string => `${need.key} ${need.once ?? need.at}`

/** The problems in their order; those with the same cause together, where the first of them is. */
function byCause(needs: readonly Need[]): Need[][] {
  const groups = new Map<string, Need[]>()
  for (const need of needs) {
    const key = need.cause === undefined ? need.key : `${need.kind} ${need.cause}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [need])
    else group.push(need)
  }
  return [...groups.values()]
}

/** What needs attention, each with its reason and an action. */
export function Attention({ batches }: { batches: readonly Batch[] }) {
  const all = useNeeds(batches)
  const [dismissed, setDismissed] = useDismissed()
  const needs = all.filter((need) => !dismissed.has(nameOf(need)))
  const [rerun, setRerun] = useState<string | null>(null)
  if (all.length === 0) return null
  const act = {
    onRerun: setRerun,
    onDismiss: (some: readonly Need[]) => setDismissed(new Set([...dismissed, ...some.map(nameOf)])),
  }
  return (
    <Section title="Needs attention" note={some(needs.length, 'problem')}>
      {byCause(needs)
        .slice(0, MAX_ROWS)
        .map((group) => {
          const first = itemAt(group, 0)
          return group.length === 1 ? (
            <NeedRow key={first.key} need={first} {...act} />
          ) : (
            <NeedGroup key={`${first.kind} ${first.cause}`} group={group} {...act} />
          )
        })}
      {needs.length < all.length && (
        <p className="flex items-center gap-2 px-3 py-1 text-xs text-muted">
          {some(all.length - needs.length, 'problem')} dismissed.
          <Button look="quiet" className="h-6" onClick={() => setDismissed(new Set())}>
            Show again
          </Button>
        </p>
      )}
      {rerun !== null && (
        <Suspense>
          <RerunFrom key={rerun} batchId={rerun} onClose={() => setRerun(null)} />
        </Suspense>
      )}
    </Section>
  )
}

interface Acts {
  onRerun: (batchId: string) => void
  onDismiss: (needs: readonly Need[]) => void
}

/** Problems with the same cause: what happened once, and each of them below when it is open. */
function NeedGroup({ group, ...act }: { group: readonly Need[] } & Acts) {
  const [open, setOpen] = useKeptOpen(`${group[0]?.kind} ${group[0]?.cause}`)
  const newest = group.reduce((a, b) => (b.at > a.at ? b : a), itemAt(group, 0))
  const n = count(group.length)
  const name = newest.kind === 'failed' ? `${n} × the same error` : `${n} batches`
  return (
    <div>
      <Row
        kind={newest.kind}
        why={newest.why}
        at={newest.at}
        actions={
          <>
            {newest.failure && (
              <Link {...newest.failure} className={buttonLook()} aria-label={`Show error: ${name}`}>
                Show error
              </Link>
            )}
            <Button className="sm:w-28" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? 'Hide them' : `Show ${n}`}
            </Button>
            <Dismiss name={`${name}, ${newest.kind}`} onDismiss={() => act.onDismiss(group)} />
          </>
        }
      >
        <button
          type="button"
          data-open
          aria-expanded={open}
          className="min-w-0 truncate text-left font-medium hover:underline sm:w-64"
          onClick={() => setOpen(!open)}
        >
          {name}
        </button>
      </Row>
      {open && (
        <div className="divide-y divide-line border-t border-line bg-surface">
          {group.map((need) => (
            <NeedRow key={need.key} need={need} {...act} />
          ))}
        </div>
      )}
    </div>
  )
}

function NeedRow({ need, onRerun, onDismiss }: { need: Need } & Acts) {
  return (
    <Row
      kind={need.kind}
      why={need.why}
      at={need.at}
      actions={
        <>
          {need.failure && (
            <Link {...need.failure} className={buttonLook()} aria-label={`Show error: ${need.name}`}>
              Show error
            </Link>
          )}
          <Act action={need.action} name={need.name} onRerun={onRerun} />
          <Dismiss name={`${need.name}, ${need.kind}`} onDismiss={() => onDismiss([need])} />
        </>
      }
    >
      <Link
        {...need.to}
        data-open
        aria-label={wholeName(need.name)}
        title={need.name}
        className="min-w-0 truncate font-medium hover:underline sm:w-64"
      >
        <Name>{need.name}</Name>
      </Link>
    </Row>
  )
}

function Row(
  props: Pick<Need, 'kind' | 'why' | 'at'> & { actions: React.ReactNode; children: React.ReactNode },
) {
  return (
    <div
      data-row
      data-need={props.kind}
      className="flex flex-wrap items-center gap-x-4 gap-y-0.5 px-3 py-1.5 hover:bg-hover"
    >
      <span className="flex w-20 shrink-0 items-center sm:w-36 gap-1.5">
        <Shape kind={props.kind} />
        {props.kind}
      </span>
      {props.children}
      <span
        className="min-w-0 flex-1 truncate text-muted max-xl:order-last max-xl:basis-full"
        title={props.why}
      >
        {props.why}
      </span>
      <span className="w-20 text-right text-muted max-sm:hidden max-xl:ml-auto">
        <RelativeTime at={props.at} />
      </span>
      <span className="flex items-center justify-end gap-1.5 max-sm:order-last max-sm:basis-full xl:min-w-64">
        {props.actions}
      </span>
    </div>
  )
}

const Dismiss = ({ name, onDismiss }: { name: string; onDismiss: () => void }) => (
  <Button
    look="quiet"
    className="px-1.5"
    aria-label={`Dismiss: ${name}`}
    title="Dismiss until it happens again"
    onClick={onDismiss}
  >
    <X className="size-3.5" aria-hidden="true" />
  </Button>
)

function Act({
  action,
  name,
  onRerun,
}: Pick<Need, 'action' | 'name'> & { onRerun: (batchId: string) => void }) {
  const described = {
    className: `${buttonLook()} sm:w-28`,
    'aria-label': `${action.label}: ${name}`,
  }
  return 'rerun' in action ? (
    <button type="button" {...described} onClick={() => onRerun(action.rerun)}>
      {action.label}
    </button>
  ) : (
    <Link {...action.to} {...described}>
      {action.label}
    </Link>
  )
}

function Shape({ kind }: { kind: Need['kind'] }) {
  if (kind === 'failed' || kind === 'lost') return <StatusShape status={kind} />
  return (
    <svg viewBox="0 0 12 12" className="size-3 shrink-0 text-amber" aria-hidden="true">
      {kind === 'stalled' && <path d="M6 1 11.5 11h-11z" fill="currentColor" />}
      {kind === 'idle' && (
        <rect x="1.5" y="3" width="9" height="6" fill="none" stroke="currentColor" strokeWidth="1.5" />
      )}
      {kind === 'offline' && (
        <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" />
      )}
    </svg>
  )
}
