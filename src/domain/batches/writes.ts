import { canonicalInstant, instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { type BatchAccess, isOpen, type Right, visibleBatch, visibleBatches } from '../access.ts'
import { recordAudit, recordAudits } from '../audit.ts'
import type { Known } from '../caller.ts'
import { changesTags, editedTags, type TagEdit } from '../tags.ts'
import { type Closing, STOP_REASON } from './batch.ts'
import { closeBatches } from './closing.ts'

/** The result of a write and its changes, as `commit` expects them. */
interface Done<T> {
  result: T
  changes: Change[]
}

/**
 * Asks the batch's reporter to stop (specification §3.1). A repeated request changes nothing.
 * @throws Problem batch_not_found, forbidden; batch_finished if it has ended
 */
export async function requestStop(tx: Tx, actor: Known, id: string, now: Date): Promise<Done<void>> {
  const batch = await lockedBatch(tx, actor, id, 'stop')
  if (!isOpen(batch)) throw new Problem('batch_finished')
  const changes: Change[] = []
  if (batch.status === 'lost') {
    // No process is left that could end it, so it is ended here.
    const closing = {
      status: 'stopped',
      at: canonicalInstant(now.toISOString()),
      reason: STOP_REASON,
    } as const
    changes.push(...(await closeBatches(tx, new Map([[batch.id, closing]]))).changes)
  }
  if (batch.stopRequested) return { result: undefined, changes }
  await tx`/* batches.request_stop */
    update batches set stop_requested_at = ${now.toISOString()}, stop_requested_by = ${actor.user.id}
    where key = ${batch.key}`
  await stopSweeps(tx, [batch.key])
  await recordAudit(tx, actor, { action: 'batch.stop_requested', ...subjectOf(batch) }, now)
  return { result: undefined, changes: [...batchChanges([batch]), ...changes] }
}

/**
 * Ends a batch that its reporter did not end (contract §10 "Lost"): failed or stopped, with the given reason. A later
 * end event of its reporter replaces this, and an event that was created later undoes it. A repeated request changes
 * nothing.
 * @throws Problem batch_not_found, forbidden; batch_finished if it has ended otherwise
 */
export async function endBatch(
  tx: Tx,
  actor: Known,
  id: string,
  end: { status: 'failed' | 'stopped'; reason: string | undefined },
  now: Date,
): Promise<Done<number>> {
  const batch = await lockedBatch(tx, actor, id, 'stop')
  const { status } = end
  const reason = end.reason ?? `marked as ${status} by ${actor.user.name}`
  if (!isOpen(batch)) {
    const [closed] = await tx<{ closing: Closing | null }[]>`/* batches.closing */
      select closing from batches where key = ${batch.key}`
    if (closed?.closing?.status === status && batch.status === status)
      return { result: batch.key, changes: [] }
    throw new Problem('batch_finished')
  }
  const closing = { status, at: canonicalInstant(now.toISOString()), reason }
  const { changes } = await closeBatches(tx, new Map([[batch.id, closing]]))
  await stopSweeps(tx, [batch.key])
  const { subject, detail } = subjectOf(batch)
  await recordAudit(tx, actor, { action: 'batch.ended', subject, detail: { ...detail, status, reason } }, now)
  return { result: batch.key, changes: [...batchChanges([batch]), ...changes] }
}

/** The fields of a batch that users may change; undefined ones keep their values. */
export interface BatchEdit extends TagEdit {
  /** Markdown. */
  notes?: string | undefined
  /** Null removes it; the batch is then shown by its id. */
  name?: string | null | undefined
  group?: string | null | undefined
  starred?: boolean | undefined
  archived?: boolean | undefined
}

/** After an edit, events no longer change these fields. */
const OUTLASTING = ['name', 'group', 'notes'] as const

/**
 * Changes the given fields; events then no longer change the tags, name, group or notes that were edited.
 * @returns the batch's key
 * @throws Problem batch_not_found, forbidden
 */
export async function editBatch(
  tx: Tx,
  actor: Known,
  id: string,
  change: BatchEdit,
  now: Date,
): Promise<Done<number>> {
  const batch = await lockedBatch(tx, actor, id, 'edit')
  const { notes = null, name, group, starred = null, archived = null } = change
  const tags = changesTags(change) ? editedTags(await tagsOf(tx, batch.key), change) : null
  const edited = OUTLASTING.filter((field) => change[field] !== undefined)
  await tx`/* batches.edit */
    update batches set tags = coalesce(${tags}::text[], tags), tags_edited = tags_edited or ${tags !== null},
      notes = coalesce(${notes}, notes),
      name = case when ${name !== undefined} then ${name ?? null}::text else name end,
      group_name = case when ${group !== undefined} then ${group ?? null}::text else group_name end,
      starred = coalesce(${starred}::boolean, starred), archived = coalesce(${archived}::boolean, archived),
      edited = array(select distinct e from unnest(edited || ${edited}::text[]) as u (e) order by e)
    where key = ${batch.key}`
  const { subject, detail } = subjectOf(batch)
  const given = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]))
  const fields = [...new Set(given.map((field) => field.replace(/^(?:add|remove)_/, '')))]
  await recordAudit(
    tx,
    actor,
    { action: 'batch.edited', subject, detail: { ...detail, fields, ...(tags && { tags }) } },
    now,
  )
  return { result: batch.key, changes: batchChanges([batch]) }
}

async function tagsOf(tx: Tx, key: number): Promise<string[]> {
  const [row] = await tx<{ tags: string[] }[]>`/* batches.tags */ select tags from batches where key = ${key}`
  return row?.tags ?? []
}

/** @throws Problem batch_not_found, forbidden */
export async function deleteBatch(tx: Tx, actor: Known, id: string, now: Date): Promise<Done<void>> {
  const batch = await lockedBatch(tx, actor, id, 'delete')
  return { result: undefined, changes: await markDeleted(tx, actor, [batch], now) }
}

export interface Deletions {
  deleted: string[]
  not_found: string[]
  forbidden: string[]
}

/** Deletes the batches that the actor may delete; each id is answered once, in the given order. */
export async function deleteBatches(
  tx: Tx,
  actor: Known,
  ids: string[],
  now: Date,
): Promise<Done<Deletions>> {
  const wanted = [...new Set(ids)]
  const seen = await visibleBatches(tx, actor, wanted)
  const permitted = new Map(seen.map((batch) => [batch.id, batch.may('delete')]))
  await lock(
    tx,
    seen.filter((batch) => batch.may('delete')).map((batch) => batch.key),
  )
  // Checked again under the lock: no other transaction can delete them now.
  const deletable = (await visibleBatches(tx, actor, wanted)).filter(
    (batch) => permitted.get(batch.id) === true,
  )
  const changes = await markDeleted(tx, actor, deletable, now)
  const deleted = new Set(deletable.map((batch) => batch.id))
  return {
    result: {
      deleted: wanted.filter((id) => deleted.has(id)),
      not_found: wanted.filter((id) => !deleted.has(id) && permitted.get(id) !== false),
      forbidden: wanted.filter((id) => permitted.get(id) === false),
    },
    changes,
  }
}

async function markDeleted(tx: Tx, actor: Known, batches: BatchAccess[], now: Date): Promise<Change[]> {
  if (batches.length === 0) return []
  const at = instantOf(now)
  await tx`/* batches.delete */
    update batches set deleted_at = ${at} where key = any (${batches.map((b) => b.key)}::bigint[])`
  await stopSweeps(
    tx,
    batches.map((b) => b.key),
  )
  await recordAudits(
    tx,
    actor,
    batches.map((batch) => ({ action: 'batch.deleted', ...subjectOf(batch) })),
    now,
  )
  return batchChanges(batches)
}

/** A sweep hands out no more trials once its batch was stopped, ended or deleted by a person. */
async function stopSweeps(tx: Tx, keys: readonly number[]): Promise<void> {
  await tx`/* batches.stop_sweeps */
    update sweeps set state = 'stopped'
    where batch_key = any (${keys}::bigint[]) and state in ('running', 'paused')`
}

/**
 * Restores a deleted batch until the sweeper has purged it. Does nothing if it is not deleted.
 * @returns the batch's key
 * @throws Problem batch_not_found, forbidden
 */
export async function restoreBatch(tx: Tx, actor: Known, id: string, now: Date): Promise<Done<number>> {
  const batch = await lockedBatch(tx, actor, id, 'delete', { deleted: true })
  if (!batch.deleted) return { result: batch.key, changes: [] }
  await tx`/* batches.restore */ update batches set deleted_at = null where key = ${batch.key}`
  await recordAudit(tx, actor, { action: 'batch.restored', ...subjectOf(batch) }, now)
  return { result: batch.key, changes: batchChanges([batch]) }
}

/**
 * Locks the batch and reads its current state. The lock is on its progress row, as for events, so a stop and a
 * simultaneous end run one after the other.
 */
async function lockedBatch(
  tx: Tx,
  actor: Known,
  id: string,
  right: Right,
  options: { deleted?: boolean } = {},
): Promise<BatchAccess> {
  const seen = await visibleBatch(tx, actor, id, options)
  if (!seen.may(right)) throw new Problem('forbidden')
  await lock(tx, [seen.key])
  return visibleBatch(tx, actor, id, options)
}

/** Locks in the same order of keys and tables as ingest, so that writers cannot deadlock. */
async function lock(tx: Tx, keys: number[]): Promise<void> {
  await tx`/* batches.lock_for_control */
    select from batches b join batch_progress p on p.batch_key = b.key
    where b.key = any (${keys}::bigint[]) order by b.key for no key update of p, b`
}

const subjectOf = (batch: BatchAccess) => ({
  subject: `batch:${batch.id}` as const,
  detail: { project: batch.projectSlug },
})

/** The changes of these batches and their timelines, on every channel that shows them. */
function batchChanges(batches: BatchAccess[]): Change[] {
  if (batches.length === 0) return []
  const byProject = new Map<string, number[]>()
  for (const { projectSlug, key } of batches) {
    byProject.set(projectSlug, [...(byProject.get(projectSlug) ?? []), key])
  }
  return [
    ...batches.flatMap(({ id, key }) =>
      (['summary', 'commands'] as const).map(
        (type): Change => ({ channel: `batch:${id}`, type, batchKey: key, keys: [] }),
      ),
    ),
    ...[...byProject].map(([slug, keys]): Change => ({ channel: `project:${slug}`, type: 'batches', keys })),
    { channel: 'dashboard', type: 'batches', keys: batches.map((b) => b.key) },
  ]
}
