import { useMemo } from 'react'
import type { Batch } from '../lib/api/batches.ts'
import { batchName } from '../lib/batch-name.ts'
import type { Compared, Comparison } from './compared-jobs.ts'

export const hasSeveralJobs = (rows: readonly Compared[]): boolean =>
  new Set(rows.map((row) => row.batch.id)).size < rows.length

/** The names of curves: the batch's name, with its id if names are equal, and with the job if the batch has several. */
export function useLabels(found: Comparison | undefined) {
  const namesKey = JSON.stringify([
    found?.batches.map((batch) => [batch.id, batch.name]),
    found?.rows.map((row) => [row.batch.id, row.job.id]),
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: other changes of a batch or a job change no name
  return useMemo(() => labelsOf(found?.batches ?? [], found?.rows ?? []), [namesKey])
}

function labelsOf(batches: readonly Batch[], rows: readonly Compared[]) {
  const count = new Map<string, number>()
  for (const batch of batches) count.set(batchName(batch), (count.get(batchName(batch)) ?? 0) + 1)
  const byId = new Map(
    batches.map((batch) => {
      const name = batchName(batch)
      return [batch.id, count.get(name) === 1 ? name : `${name} (${batch.id})`]
    }),
  )
  const of = (id: string): string => byId.get(id) ?? id
  const several = hasSeveralJobs(rows)
  const onlyJobs = new Set(several ? [] : rows.map((row) => `${row.batch.id}\n${row.job.id}`))
  // A job that started since then must not be mistaken for the batch's former only job.
  const nameOf = (id: string, job: string): string =>
    onlyJobs.has(`${id}\n${job}`) ? of(id) : `${of(id)} / ${job}`
  const ids = new Map([...byId].map(([id, label]) => [label, id]))
  for (const { batch, job } of rows) ids.set(nameOf(batch.id, job.id), batch.id)
  return {
    of,
    nameOf,
    batchOf: (name: string): string | undefined => ids.get(name),
    /** The curve of a batch as a whole; undefined while each job has its own. */
    curveOf: (id: string): string | undefined => byId.get(id),
  }
}
