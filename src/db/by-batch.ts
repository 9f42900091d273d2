import { type Db, type Fragment, isDistributed, isWorkerUnreachable } from './sql.ts'

/**
 * Queries telemetry tables for rows that belong to several batches. On plain PostgreSQL this is one statement. On a
 * Citus cluster (decision 0025) it is one statement per batch: a statement that names its batch as a constant is routed
 * to one worker, while a join with a list of batches is sent to all workers.
 * @param work is called with rows, which its statement unnests under the alias `u`, and with the expression to compare
 * `batch_key` with: `u.batch_key`, or the key of the one batch that all these rows belong to
 * @param options.onUnreachable is called with the rows of each batch whose worker cannot be reached; the result omits
 * them. Without this option the error is thrown
 * @returns the results of all calls of `work`
 */
export async function byBatch<Row extends { batchKey: number }, Result>(
  db: Db,
  rows: readonly Row[],
  work: (rows: readonly Row[], batch: Fragment) => PromiseLike<readonly Result[]>,
  { onUnreachable }: { onUnreachable?: (rows: readonly Row[]) => void } = {},
): Promise<Result[]> {
  if (rows.length === 0) return []
  if (!isDistributed(db)) return [...(await work(rows, db`u.batch_key`))]
  const results = await Promise.all(
    [...groupByBatch(rows)].map(async ([batchKey, own]) => {
      try {
        return await work(own, db`${batchKey}::bigint`)
      } catch (error) {
        if (onUnreachable === undefined || !isWorkerUnreachable(db, error)) throw error
        onUnreachable(own)
        return []
      }
    }),
  )
  return results.flat()
}

/**
 * Compares a column with the batch of `byBatch` where db_ids lead to the rows. PostgreSQL cannot use this for an index: a
 * plan made on an empty table would take the index by batch, which later reads the whole batch. A cluster needs the plain
 * comparison to find the worker.
 */
export const sameBatch = (db: Db, column: Fragment, batch: Fragment): Fragment =>
  isDistributed(db) ? db`${column} = ${batch}` : db`(${column} = ${batch}) is true`

export function groupByBatch<Row extends { batchKey: number }>(rows: readonly Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.batchKey)
    if (group === undefined) groups.set(row.batchKey, [row])
    else group.push(row)
  }
  return groups
}
