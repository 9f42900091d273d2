import type postgres from 'postgres'
import { itemAt } from '../checked.ts'

/**
 * The rows of a query of twenty columns or more. postgres.js makes a row by adding one column after another to an empty
 * object, and V8 drops the hidden class of such an object at the twentieth: it becomes a hash table, which takes six
 * times as long to make and twice the memory. A copy of a row that has all columns keeps its shape.
 * @param also columns that are the same in every row
 */
export async function wideRows<Row extends object>(
  query: postgres.PendingQuery<Row[]>,
  also: Partial<Row> = {},
): Promise<Row[]> {
  const found = await query.values()
  const names = found.columns.map(({ name }) => String(name))
  // From JSON, because an object that was read from it has a shape however many fields it has.
  const none: Record<string, unknown> = JSON.parse(
    JSON.stringify({ ...also, ...Object.fromEntries(names.map((name) => [name, null])) }),
  )
  // In its place, so that what a row was made of need not outlive it.
  const rows = found as unknown[]
  for (let n = 0; n < rows.length; n++) {
    const values = rows[n] as unknown[]
    const row = { ...none }
    for (let i = 0; i < names.length; i++) row[itemAt(names, i)] = values[i]
    rows[n] = row
  }
  return rows as Row[]
}
