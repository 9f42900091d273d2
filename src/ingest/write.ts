import type { Fragment, Tx } from '../db/sql.ts'
import { saveBatchProgress, saveBatchSummaries, settleJobs } from '../domain/batches/index.ts'
import { advanceJobs, onlyAdvanced, saveJobProgress, saveJobSummaries } from '../domain/jobs/index.ts'
import { insertLogLines } from '../domain/logs/index.ts'
import { dropChunks, insertEpochs, mergeEpochs, recountExtremes } from '../domain/metrics/index.ts'
import { insertSnapshots } from '../domain/resources/index.ts'
import { storeEvents } from './claim.ts'
import type { Folded } from './fold.ts'

/** A job whose status the end of its batch changed, without an event of its own. */
export interface EndedJob {
  batchKey: number
  key: number
}

/** Writes a folded group: steps 7 and 8. */
export async function writeGroup(tx: Tx, folded: Folded): Promise<EndedJob[]> {
  const { touched, claims, lines, snapshots, epochs } = folded
  const batches = [...touched.keys()]
  const jobs = [...touched.values()].flatMap((t) => [...t.jobs.keys()])
  const advanced = jobs.filter(onlyAdvanced)
  const others = jobs.filter((job) => !onlyAdvanced(job))
  const changedJobs = jobs.filter((job) => job.changed.summary)
  const changedBatches = batches.filter((batch) => batch.changed.summary)
  await writeTogether(tx, {
    stored: storeEvents(tx, claims),
    epochs: epochs.alone.length > 0 && insertEpochs(tx, epochs.alone),
    lines: lines.length > 0 && insertLogLines(tx, lines),
    snapshots: snapshots.length > 0 && insertSnapshots(tx, snapshots),
    advanced: advanced.length > 0 && advanceJobs(tx, advanced),
    others: others.length > 0 && saveJobProgress(tx, others),
    jobs: changedJobs.length > 0 && saveJobSummaries(tx, changedJobs),
    progress: saveBatchProgress(tx, batches),
    batches: changedBatches.length > 0 && saveBatchSummaries(tx, changedBatches),
  })
  if (epochs.merged.length > 0) await mergeEpochs(tx, epochs.merged)
  const replaced = jobs.filter((j) => j.progress.changed.extremes).map((j) => j.key)
  if (replaced.length > 0) await recountExtremes(tx, replaced)
  const unpacked = jobs.filter((j) => j.progress.changed.chunks).map((j) => j.key)
  if (unpacked.length > 0) await dropChunks(tx, unpacked)

  const flipped = batches.filter((batch) => touched.get(batch)?.over !== touched.get(batch)?.wasOver)
  if (flipped.length === 0) return []
  const settled = await settleJobs(tx, flipped)
  for (const batch of flipped) {
    Object.assign(batch.jobs, settled.counts.get(batch.key))
    batch.changed.counts = true
  }
  return settled.jobs
}

/**
 * Statements that write different tables, as one: each round trip and each statement costs both sides more than the
 * rows of a small group do.
 */
async function writeTogether(tx: Tx, parts: Record<string, Fragment | false>): Promise<void> {
  let together: Fragment | undefined
  for (const [name, part] of Object.entries(parts)) {
    if (part === false) continue
    together =
      together === undefined ? tx`${tx(name)} as (${part})` : tx`${together}, ${tx(name)} as (${part})`
  }
  if (together !== undefined) await tx`/* ingest.write */ with ${together} select 1`
}
