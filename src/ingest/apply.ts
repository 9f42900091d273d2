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
  /** To be called once the transaction is committed: what this server then knows of the jobs. */
  remember: () => void
}

/**
 * One group of events, whole: steps 5 to 8 of specification §4.1 in one transaction. Loads and locks what the
 * events touch, admits them one by one, folds the admitted ones in memory and writes every table once.
 * @returns an outcome per item, and what the stream is to tell
 * @throws what the database throws; then nothing of the group was kept
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
      outcomes: outcomesOf(items, admission),
      remember: () => {
        updateCache(options.cache, state, folded)
        options.cache.templates.remember(folded?.templates ?? [])
      },
    },
  }
}

/** By position. */
export const outcomesOf = (items: readonly Item[], { outcomes, repeats, ignored }: Admission): Outcome[] =>
  items.map((item, i): Outcome => {
    const repeated = repeats.get(i)
    if (repeated !== undefined)
      return { dbId: repeated.checked.dbId, deduplicated: true, ignored: ignored.get(repeated) }
    return outcomes[i] ?? { dbId: item.checked.dbId, deduplicated: false, ignored: ignored.get(item) }
  })

/** To be called once the group is committed. */
export function updateCache(cache: IngestCache, groupState: GroupState, folded: Folded | undefined): void {
  const { projects, senders } = groupState.read
  for (const { access, version } of projects) cache.keepProject(access, version, senders)
  for (const [batchId, batch] of groupState.batches) {
    const { state } = batch
    const touched = folded?.touched.get(state)
    // What SQL changed behind the fold's back is not known here: those jobs are read back next time.
    if (touched?.over !== touched?.wasOver) continue
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
