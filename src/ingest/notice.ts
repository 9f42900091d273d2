import { entryOf, isRecord } from '../checked.ts'
import { STOP_REASON } from '../domain/batches/index.ts'
import { type Detail, firingKey, type Happening, type Trigger } from '../domain/notifications/index.ts'
import type { Folded } from './fold.ts'
import type { Item } from './outcome.ts'
import type { GroupState } from './state.ts'

/**
 * The happenings of a group that rules may send mail about (step 10), in the order of its events. The end of a batch or job
 * counts by itself, independent of other events about it, so the same events in any order cause the same mails. A batch
 * or job that ends because a user stopped it has not failed.
 */
export function happeningsOf(
  admitted: readonly Item[],
  groupState: GroupState,
  { crossed, touched }: Folded,
): Happening[] {
  const watched = new Map([...groupState.projectsByKey.values()].map((p) => [p.key, p.rules]))
  if (![...watched.values()].some((rules) => rules.length > 0)) return []
  const happenings: Happening[] = []
  const byEvent = new Map<string, Happening[]>()
  for (const one of crossed) byEvent.set(one.key, [...(byEvent.get(one.key) ?? []), one])
  for (const { checked } of admitted) {
    const { event } = checked
    const { state } = entryOf(groupState.batches, event.batch_id)
    const key = firingKey(state.key, checked.eventId)
    const crossings = byEvent.get(key)
    if (crossings !== undefined) happenings.push(...crossings)
    const end = endOf(checked.event, state.stopRequested)
    if (end === undefined) continue
    // The batch was lost, and its loss was mailed as a failure: its late batch_failed is not a second one.
    if (end.trigger === 'batch_failed' && touched.get(state)?.wasLost === true) continue
    if (!watched.get(state.projectKey)?.some((rule) => rule.trigger === end.trigger)) continue
    const job =
      typeof event.job_id === 'string' ? groupState.jobs.get(event.batch_id)?.get(event.job_id) : undefined
    happenings.push({
      ...end,
      projectKey: state.projectKey,
      batchKey: state.key,
      jobKey: job?.key ?? null,
      key,
      at: checked.at,
    })
  }
  return happenings
}

function endOf(
  event: Item['checked']['event'],
  stopRequested: boolean,
): { trigger: Trigger; detail?: Detail } | undefined {
  switch (event.event_type) {
    case 'batch_done':
      return { trigger: 'batch_done' }
    case 'batch_failed': {
      const { reason } = event.data
      return stopRequested || reason === STOP_REASON
        ? undefined
        : { trigger: 'batch_failed', detail: { reason } }
    }
    case 'job_failed': {
      const { reason } = event.data
      return reason === STOP_REASON ? undefined : { trigger: 'job_failed', detail: { reason } }
    }
    case 'log_line': {
      const alert = alertOf(event.data.alert)
      return alert && { trigger: 'alert', detail: alert }
    }
    default:
      return undefined
  }
}

const MAX_TITLE = 256
const MAX_TEXT = 10_000

/** The alert of a log line: `data.alert`, `{title, text?}`; undefined if there is none. */
function alertOf(alert: unknown): Detail | undefined {
  if (!isRecord(alert)) return undefined
  const { title, text } = alert
  if (typeof title !== 'string' || title === '') return undefined
  return {
    alert: title.slice(0, MAX_TITLE).toWellFormed(),
    ...(typeof text === 'string' && text !== '' ? { reason: text.slice(0, MAX_TEXT).toWellFormed() } : {}),
  }
}
