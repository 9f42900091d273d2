import type { Tx } from '../db/sql.ts'
import { linkReruns } from '../domain/agents/index.ts'
import { settled } from '../domain/jobs/index.ts'
import type { Change } from '../stream/change.ts'
import { admit } from './admit.ts'
import { changesOf } from './changes.ts'
import { createMissing } from './create.ts'
import { type Folded, foldGroup } from './fold.ts'
import type { JobMemory } from './memory.ts'
import type { Item, Outcome } from './outcome.ts'
import { loadStanding, type Standing } from './standing.ts'
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
  options: { autocreate: boolean; memory: JobMemory; now: () => Date },
): Promise<{ result: Applied; changes: Change[] }> {
  const standing = await loadStanding(tx, items, options.memory)
  const { admitted, outcomes, repeats } = admit(items, standing, options)
  let changes: Change[] = []
  let folded: Folded | undefined
  if (admitted.length > 0) {
    const created = await createMissing(tx, admitted, standing)
    folded = await foldGroup(tx, admitted, standing, created)
    const ended = await writeGroup(tx, folded)
    changes = changesOf(standing, folded, admitted, ended)
    if (folded.started.length > 0) changes.push(...(await linkReruns(tx, folded.started, options.now())))
  }
  return {
    changes,
    result: {
      outcomes: items.map((item, i): Outcome => {
        const repeated = repeats.get(i)
        if (repeated !== undefined) return { dbId: repeated.checked.dbId, deduplicated: true }
        return outcomes[i] ?? { dbId: item.checked.dbId, deduplicated: false }
      }),
      remember: () => remember(options.memory, standing, folded),
    },
  }
}

function remember(memory: JobMemory, standing: Standing, folded: Folded | undefined): void {
  for (const [batchId, { state, version }] of standing.batches) {
    const byId = standing.jobs.get(batchId)
    const touched = folded?.touched.get(state)
    // What SQL changed behind the fold's back is not known here: those jobs are read back next time.
    if (byId === undefined || touched?.over !== touched?.wasOver) continue
    if ([...(touched?.jobs.keys() ?? [])].some((job) => job.progress.changed.extremes)) continue
    for (const job of touched?.jobs.keys() ?? []) settled(job)
    memory.keep(batchId, { version: touched === undefined ? version : standing.version, byId })
  }
}
