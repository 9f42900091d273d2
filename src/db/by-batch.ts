import { type Db, type Fragment, isDistributed, isWorkerAway } from './sql.ts'

/**
 * Asks telemetry tables about rows of several batches. Over plain PostgreSQL that is one statement. Where the tables are
 * distributed by batch (decision 0023) it is one for each batch: a statement that names one batch with a constant goes to
 * one place, while one that joins with a list of them asks every place there is.
 * @param work gets rows, which its statement is to unnest under the name `u`, and what to compare a table's `batch_key`
 * with: `u.batch_key`, or the one batch that all of these rows belong to
 * @param options.away is given the rows of each batch whose worker is away, which are left out; without it that is an error
 * @returns what it gives for all of them
 */
export async function byBatch<Row extends { batchKey: number }, Result>(
  db: Db,
  rows: readonly Row[],
  work: (rows: readonly Row[], batch: Fragment) => PromiseLike<readonly Result[]>,
  { away }: { away?: (rows: readonly Row[]) => void } = {},
): Promise<Result[]> {
  if (rows.length === 0) return []
  if (!isDistributed(db)) return [...(await work(rows, db`u.batch_key`))]
  const results = await Promise.all(
    [...groupByBatch(rows)].map(async ([batchKey, own]) => {
      try {
        return await work(own, db`${batchKey}::bigint`)
      } catch (error) {
        if (away === undefined || !isWorkerAway(db, error)) throw error
        away(own)
        return []
      }
    }),
  )
  return results.flat()
}

export function groupByBatch<Row extends { batchKey: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.batchKey)
    if (group === undefined) groups.set(row.batchKey, [row])
    else group.push(row)
  }
  return groups
}
