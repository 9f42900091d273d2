import type { Step } from '../db/pipeline.ts'
import { isDistributed, type Tx } from '../db/sql.ts'
import { asStatement, type CombinedStatement, combine } from '../db/sql-fragment.ts'
import {
  jobsEndAt,
  saveBatchProgress,
  saveBatchSummaries,
  saveSenders,
  settleJobs,
} from '../domain/batches/index.ts'
import {
  advanceJobs,
  type JobState,
  onlyAdvanced,
  saveJobProgress,
  saveJobSummaries,
} from '../domain/jobs/index.ts'
import { insertLogLines } from '../domain/logs/index.ts'
import { storeMedia } from '../domain/media/index.ts'
import {
  copyEpochs,
  dropChunks,
  insertEpochs,
  mergeEpochs,
  recountExtremes,
} from '../domain/metrics/index.ts'
import { insertSnapshots } from '../domain/resources/index.ts'
import { copyEvents, storeEvents } from './claim.ts'
import type { Folded } from './fold.ts'
import { storeTemplates } from './templates.ts'

/** A job whose status changed because its batch ended, not by an event of its own. */
export interface EndedJob {
  batchKey: number
  key: number
}

/** Writes a folded group: steps 7 and 8. */
export async function writeGroup(tx: Tx, folded: Folded): Promise<EndedJob[]> {
  const { touched, epochs } = folded
  const batches = [...touched.keys()]
  const jobs = jobsOf(touched)
  for (const { text, values } of isDistributed(tx) ? writeApart(folded) : [writeTogether(folded)])
    await tx.unsafe(text, values, { prepare: true })
  if (epochs.merged.length > 0) await mergeEpochs(tx, epochs.merged)
  if (folded.media.length > 0) await storeMedia(tx, folded.media)
  const replaced = jobs.filter((j) => j.progress.changed.extremes).map(placeOf)
  if (replaced.length > 0) await recountExtremes(tx, replaced)
  const unpacked = jobs.filter((j) => j.progress.changed.chunks).map(placeOf)
  if (unpacked.length > 0) await dropChunks(tx, unpacked)

  const flipped = batches.filter((batch) => touched.get(batch)?.jobsEndAt !== touched.get(batch)?.jobsEndedAt)
  if (flipped.length === 0) return []
  const settled = await settleJobs(tx, new Map(flipped.map((batch) => [batch.key, jobsEndAt(batch)])))
  for (const batch of flipped) {
    Object.assign(batch.jobs, settled.counts.get(batch.key))
    batch.changed.counts = true
  }
  return settled.jobs
}

const placeOf = ({ batchKey, key }: JobState) => ({ batchKey, jobKey: key })

const jobsOf = (touched: Folded['touched']): JobState[] =>
  [...touched.values()].flatMap((t) => [...t.jobs.keys()])

/** All tables in one statement: a round trip or a further statement costs more than the rows of a small group. */
function writeTogether(folded: Folded): CombinedStatement {
  const { claims, epochs } = folded
  return combine('ingest.write', {
    stored: storeEvents(claims),
    epochs: epochs.alone.length > 0 && insertEpochs(epochs.alone),
    ...smallTables(folded),
  })
}

/**
 * On a cluster: one statement for the local tables, and one for each distributed table, because no statement may write
 * both on the coordinator and on workers. Citus copies the events to the workers, so the commit has two phases.
 */
function writeApart(folded: Folded): CombinedStatement[] {
  const { claims, epochs } = folded
  const { templates, lines, snapshots, ...local } = smallTables(folded)
  const telemetry = {
    stored: storeEvents(claims),
    epochs: epochs.alone.length > 0 && insertEpochs(epochs.alone),
    templates,
    lines,
    snapshots,
  }
  return [
    combine('ingest.write_local', local),
    ...Object.entries(telemetry).flatMap(([table, insert]) =>
      insert ? [asStatement(`ingest.write_${table}`, insert)] : [],
    ),
  ]
}

/** The same as steps of a pipelined write. The two tables with the most rows use COPY (docs/decisions/0010). */
export function writingSteps(folded: Folded): Step[] {
  const { claims, epochs } = folded
  const copies = [copyEvents(claims)]
  if (epochs.alone.length > 0) copies.push(copyEpochs(epochs.alone))
  return [
    ...copies.map((rows) => ({ name: rows.text, text: rows.text, values: [], rows })),
    combine('ingest.write_rest', smallTables(folded)),
  ]
}

function smallTables({ touched, templates, senders, lines, snapshots }: Folded) {
  const batches = [...touched.keys()]
  const jobs = jobsOf(touched)
  const advanced = jobs.filter(onlyAdvanced)
  const others = jobs.filter((job) => !onlyAdvanced(job))
  const changedJobs = jobs.filter((job) => job.changed.summary)
  const changedBatches = batches.filter((batch) => batch.changed.summary)
  return {
    templates: templates.length > 0 && storeTemplates(templates),
    lines: lines.length > 0 && insertLogLines(lines),
    snapshots: snapshots.length > 0 && insertSnapshots(snapshots),
    advanced: advanced.length > 0 && advanceJobs(advanced),
    others: others.length > 0 && saveJobProgress(others),
    jobs: changedJobs.length > 0 && saveJobSummaries(changedJobs),
    progress: saveBatchProgress(batches),
    senders: senders.length > 0 && saveSenders(senders),
    batches: changedBatches.length > 0 && saveBatchSummaries(changedBatches),
  }
}

/** Whether `writingSteps` alone can write the group, without reading what is stored. */
export function isWrittenTogether(folded: Folded): boolean {
  if (folded.epochs.merged.length > 0 || folded.started.length > 0) return false
  if (folded.conflicts.length > 0 || folded.media.length > 0) return false
  for (const [batch, { jobsEndAt, jobsEndedAt, jobs }] of folded.touched) {
    if (batch.changed.summary || jobsEndAt !== jobsEndedAt) return false
    for (const { progress } of jobs.keys())
      if (progress.changed.extremes || progress.changed.chunks) return false
  }
  return true
}
