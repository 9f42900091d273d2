import { entryOf } from '../checked.ts'
import type { EventType } from '../domain/events/index.ts'
import type { Change, IdRange } from '../stream/change.ts'
import type { Folded } from './fold.ts'
import type { Item } from './outcome.ts'
import type { GroupState } from './state.ts'
import type { EndedJob } from './write.ts'

/** The changes of a group for the stream, by channel (contract §6). */
export function changesOf(
  state: GroupState,
  folded: Folded,
  admitted: readonly Item[],
  ended: readonly EndedJob[],
): Change[] {
  const changes: Change[] = []
  const byProject = new Map<string, number[]>()
  const onDashboard: number[] = []
  const keys = new Map<string, number>()
  for (const [batch, { jobs }] of folded.touched) {
    const project = entryOf(state.projectsByKey, batch.projectKey).slug
    keys.set(batch.id, batch.key)
    const changed = new Set([...jobs.keys()].map((job) => job.key))
    for (const { batchKey, key } of ended) if (batchKey === batch.key) changed.add(key)
    changes.push({ channel: `batch:${batch.id}`, type: 'summary', batchKey: batch.key, keys: [...changed] })
    const inProject = byProject.get(project)
    if (inProject === undefined) byProject.set(project, [batch.key])
    else inProject.push(batch.key)
    if (batch.changed.summary || batch.changed.counts) onDashboard.push(batch.key)
  }
  for (const [project, batchKeys] of byProject) {
    changes.push({ channel: `project:${project}`, type: 'batches', keys: batchKeys })
  }
  if (onDashboard.length > 0) changes.push({ channel: 'dashboard', type: 'batches', keys: onDashboard })

  const { epochs, lines, snapshots } = rangesOf(admitted)
  const batchKeyOf = (id: string): number => entryOf(keys, id)
  const withMedia = new Set(folded.media.map((media) => media.batchKey))
  for (const [id, batchKey] of keys)
    if (withMedia.has(batchKey)) changes.push({ channel: `batch:${id}`, type: 'media', batchKey, keys: [] })
  for (const [id, ids] of epochs) {
    changes.push({ channel: `metrics:${id}`, type: 'epochs', batchKey: batchKeyOf(id), ids })
  }
  for (const [id, ids] of lines) {
    changes.push({ channel: `logs:${id}`, type: 'lines', batchKey: batchKeyOf(id), ids })
  }
  for (const [id, ids] of snapshots) {
    changes.push({ channel: `resources:${id}`, type: 'snapshots', batchKey: batchKeyOf(id), ids })
  }
  return changes
}

/** First and last db_id of each batch's epochs, log lines and snapshots. */
function rangesOf(admitted: readonly Item[]) {
  const ranges = {
    epochs: new Map<string, IdRange>(),
    lines: new Map<string, IdRange>(),
    snapshots: new Map<string, IdRange>(),
  }
  const kinds: Partial<Record<EventType, Map<string, IdRange>>> = {
    job_epoch: ranges.epochs,
    log_line: ranges.lines,
    resource_snapshot: ranges.snapshots,
  }
  for (const { checked } of admitted) {
    const { event, dbId } = checked
    const kind = kinds[event.event_type]
    if (kind === undefined) continue
    const range = kind.get(event.batch_id)
    // db_ids ascend within a group.
    if (range === undefined) kind.set(event.batch_id, { first: dbId, last: dbId })
    else range.last = dbId
  }
  return ranges
}
