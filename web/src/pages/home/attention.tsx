import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { fetchLostJobs, fetchRunningJobs } from '../../lib/api/dashboard.ts'
import { fetchHosts } from '../../lib/api/hosts.ts'
import type { Batch } from '../../lib/api/types.ts'
import { loadedChunk } from '../../lib/availability.ts'
import { batchName } from '../../lib/batch-name.ts'
import { itemAt } from '../../lib/checked.ts'
import { links } from '../../lib/links.ts'
import { causeOf } from '../../lib/traceback.ts'
import { ago, count, duration, some } from '../../lib/words.ts'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { RelativeTime, useNow } from '../../ui/relative-time.tsx'
import { StatusShape } from '../../ui/status.tsx'
import { Section } from './section.tsx'
import { useDismissed } from './use-dismissed.ts'

const RerunFrom = lazy(async () => ({
  default: (await loadedChunk(import('../batch/rerun-from.tsx'))).RerunFrom,
}))
const DAY_MS = 86_400_000
/** An agent that has been offline for longer is not reported any more. */
const MISSED_MS = 7 * DAY_MS
const MAX_OF_A_KIND = 10
const MAX_ROWS = 40

interface Need {
  key: string
  kind: 'failed' | 'stalled' | 'idle' | 'lost' | 'offline'
  name: string
  to: LinkProps
  /** What happened, and why if known. */
  why: string
  at: string
  /** A link to the page with the traceback. */
  failure?: LinkProps
  /** For ongoing problems, used instead of the time: a dismissal holds until this changes. */
  once?: string
  /** Problems with the same cause are one row. */
  cause?: string | undefined
  action: { label: string } & ({ to: LinkProps } | { rerun: string })
}

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
  const [open, setOpen] = useState(false)
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
      <Link {...need.to} data-open className="min-w-0 truncate font-medium hover:underline sm:w-64">
        {need.name}
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
        className="min-w-0 flex-1 truncate text-muted max-sm:order-last max-sm:basis-full"
        title={props.why}
      >
        {props.why}
      </span>
      <span className="w-20 text-right text-muted max-sm:hidden">
        <RelativeTime at={props.at} />
      </span>
      <span className="flex items-center justify-end gap-1.5 max-sm:order-last max-sm:basis-full sm:min-w-64">
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

function useNeeds(batches: readonly Batch[]): Need[] {
  const now = useNow()
  const often = { refetchInterval: 60_000 }
  const running =
    useQuery({ queryKey: ['running-jobs'], queryFn: fetchRunningJobs, ...often }).data?.items ?? []
  const lostJobs = useQuery({ queryKey: ['lost-jobs'], queryFn: fetchLostJobs, ...often }).data?.items ?? []
  const hosts = useQuery({ queryKey: ['hosts'], queryFn: fetchHosts, ...often }).data ?? []
  const needs: Need[] = []
  const lately = (at: string | null, ms = DAY_MS): boolean => at !== null && Date.parse(at) > now - ms
  for (const batch of batches.filter((one) => one.status === 'running' && one.stalled)) {
    needs.push({
      key: `stalled ${batch.id}`,
      kind: 'stalled',
      name: batchName(batch),
      to: links.batch(batch.id),
      why: `No events for ${duration((now - Date.parse(batch.last_seen_at)) / 1000)}${batch.host ? ` from ${batch.host}` : ''}; what it had sent is kept`,
      at: batch.last_seen_at,
      action: { label: 'View log', to: links.logs(batch.id) },
    })
  }
  for (const batch of batches) {
    const at = batch.ended_at ?? batch.last_seen_at
    const lost = batch.status === 'lost'
    const failed = (batch.status === 'failed' || lost) && lately(at)
    const losing = batch.status === 'running' && batch.n_failed > 0
    if (!failed && !losing) continue
    needs.push({
      key: `failed ${batch.id}`,
      kind: lost ? 'lost' : 'failed',
      ...(losing && { once: `${batch.n_failed} failed` }),
      ...(failed && batch.failure_reason && { cause: causeOf(batch.failure_reason) }),
      ...(!lost && { failure: { ...links.batch(batch.id), hash: 'failures' } }),
      name: batchName(batch),
      to: links.batch(batch.id),
      why: failed
        ? (batch.failure_reason ?? 'No reason was reported')
        : `${some(batch.n_failed, 'job')} failed; the others continue`,
      at,
      action:
        failed && batch.can?.rerun
          ? { label: 'Rerun', rerun: batch.id }
          : failed
            ? { label: 'View log', to: links.logs(batch.id) }
            : { label: 'View jobs', to: links.jobs(batch.id) },
    })
  }
  for (const job of running.filter((one) => one.idle).slice(0, MAX_OF_A_KIND)) {
    needs.push({
      key: `idle ${job.key}`,
      kind: 'idle',
      name: `${job.batch_id} / ${job.id}`,
      to: links.job(job.batch_id, job.id),
      why: 'The job is running, but its GPU is idle',
      at: job.started_at,
      action: { label: 'View resources', to: links.resources(job.batch_id) },
    })
  }
  const lostBatches = new Set(batches.filter(({ status }) => status === 'lost').map(({ id }) => id))
  const lostAlone = lostJobs.filter(
    (one) => !lostBatches.has(one.batch_id) && lately(one.ended_at ?? one.started_at),
  )
  for (const job of lostAlone.slice(0, MAX_OF_A_KIND)) {
    needs.push({
      key: `lost ${job.key}`,
      kind: 'lost',
      name: `${job.batch_id} / ${job.id}`,
      to: links.job(job.batch_id, job.id),
      why: `The batch ended and this job never reported its end; ${some(job.epochs, 'epoch')}, kept`,
      at: job.ended_at ?? job.started_at,
      action: { label: 'View delivery', to: links.delivery(job.batch_id) },
    })
  }
  for (const host of hosts) {
    // Hosts without an agent are known only from reports, so silence is not a problem.
    if (host.agent_id === null || host.online || host.revoked_at !== null) continue
    if (!lately(host.last_seen_at, MISSED_MS)) continue
    const waits =
      host.pending_commands > 0
        ? `; ${some(host.pending_commands, 'command')} will start when it returns`
        : ''
    needs.push({
      key: `offline ${host.id}`,
      kind: 'offline',
      name: host.hostname,
      to: links.host(host.id),
      why: `The agent was last seen ${ago(host.last_seen_at, now)}${waits}`,
      at: host.last_seen_at,
      action: { label: 'View host', to: links.host(host.id) },
    })
  }
  return needs
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
