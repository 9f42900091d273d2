import type { Tx } from '../db/sql.ts'
import { linkReruns } from '../domain/agents/index.ts'
import { recordConflicts } from '../domain/batches/index.ts'
import { settled } from '../domain/jobs/index.ts'
import { fireRules } from '../domain/notifications/index.ts'
import { bindTokens } from '../domain/tokens/index.ts'
import type { Change } from '../stream/change.ts'
import { type Admission, type AdmissionRules, admit } from './admit.ts'
import type { IngestCache } from './cache.ts'
import { changesOf } from './changes.ts'
import { createMissing } from './create.ts'
import { type Folded, foldGroup } from './fold.ts'
import { happeningsOf } from './notice.ts'
import type { Item, Outcome } from './outcome.ts'
import { type GroupState, loadState } from './state.ts'
import { writeGroup } from './write.ts'

export interface Applied {
  /** By position. */
  outcomes: Outcome[]
  /** Updates this server's cache. Call it once the transaction is committed. */
  remember: () => void
}

/**
 * Steps 5 to 8 of specification §4.1 for a group of events, in one transaction: loads and locks what the events refer
 * to, admits them one by one, folds the admitted ones in memory, and writes every table once.
 * @returns an outcome per item, and the changes for the stream
 * @throws the database's error; then nothing of the group is stored
 */
export async function applyGroup(
  tx: Tx,
  items: readonly Item[],
  options: AdmissionRules & { cache: IngestCache; now: () => Date },
): Promise<{ result: Applied; changes: Change[] }> {
  const state = await loadState(tx, items, options.cache)
  const admission = admit(items, state, options)
  const { admitted } = admission
  let changes: Change[] = []
  let folded: Folded | undefined
  if (admitted.length > 0) {
    if (admission.bound.size > 0) {
      await bindTokens(
        tx,
        [...admission.bound].map(([tokenId, batchId]) => ({ tokenId, batchId })),
      )
    }
    const created = await createMissing(tx, admitted, state)
    folded = await foldGroup(tx, admitted, state, created)
    const ended = await writeGroup(tx, folded)
    changes = changesOf(state, folded, admitted, ended)
    await fireRules(tx, happeningsOf(admitted, state, folded), options.now())
    if (folded.conflicts.length > 0) {
      const recorded = await recordConflicts(tx, folded.conflicts, options.now())
      for (const { id, key } of recorded) {
        changes.push({ channel: `batch:${id}`, type: 'commands', batchKey: key, keys: [] })
      }
    }
    if (folded.started.length > 0) changes.push(...(await linkReruns(tx, folded.started, options.now())))
  }
  return {
    changes,
    result: {
      outcomes: outcomesOf(items, admission, state),
      remember: () => {
        updateCache(options.cache, state, folded)
        options.cache.templates.remember(folded?.templates ?? [])
      },
    },
  }
}

/** By position. */
export const outcomesOf = (
  items: readonly Item[],
  { outcomes, repeats, ignored }: Admission,
  state: GroupState,
): Outcome[] =>
  items.map((item, i): Outcome => {
    const stored = repeats.get(i)
    const outcome = outcomes[i] ?? {
      dbId: (stored ?? item).checked.dbId,
      deduplicated: stored !== undefined,
      ignored: ignored.get(stored ?? item),
    }
    const deleted = state.batches.get(item.checked.event.batch_id)?.deleted === true
    return deleted && !('problem' in outcome) ? { ...outcome, deleted } : outcome
  })

/** Keeps the state that a group left. Call it once the group is committed. */
export function updateCache(cache: IngestCache, groupState: GroupState, folded: Folded | undefined): void {
  const { projects, senders } = groupState.read
  for (const { access, version } of projects) cache.keepProject(access, version, senders)
  for (const [batchId, batch] of groupState.batches) {
    const { state } = batch
    const touched = folded?.touched.get(state)
    // SQL may have changed jobs that the fold does not know of: they are read again next time.
    if (touched?.jobsEndAt !== touched?.jobsEndedAt) continue
    const byId = groupState.jobs.get(batchId) ?? new Map()
    if (touched !== undefined) {
      if ([...touched.jobs.keys()].some((job) => job.progress.changed.extremes)) continue
      for (const job of touched.jobs.keys()) settled(job)
      batch.version = groupState.version
      if (state.changed.summary) batch.ownVersion = groupState.version
      state.changed = { summary: false, progress: false, counts: false }
      delete state.traceback
    }
    cache.keep({ batch, byId })
  }
}
