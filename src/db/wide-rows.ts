import type postgres from 'postgres'
import { itemAt } from '../checked.ts'

/**
 * Returns the rows of a query with twenty or more columns. postgres.js builds a row by adding one column after another
 * to an empty object. At the twentieth property V8 switches such an object from a hidden class to a hash table, which
 * takes six times as long to build and twice the memory. Copies of a complete row keep its hidden class.
 * @param also columns that have the same value in every row
 */
export async function wideRows<Row extends object>(
  query: postgres.PendingQuery<Row[]>,
  also: Partial<Row> = {},
): Promise<Row[]> {
  const found = await query.values()
  const names = found.columns.map(({ name }) => String(name))
  // Objects from JSON.parse have a hidden class regardless of the number of properties.
  const none: Record<string, unknown> = JSON.parse(
    JSON.stringify({ ...also, ...Object.fromEntries(names.map((name) => [name, null])) }),
  )
  // Replaces each row in place, so that its array of values can be collected at once.
  const rows = found as unknown[]
  for (let n = 0; n < rows.length; n++) {
    const values = rows[n] as unknown[]
    const row = { ...none }
    for (let i = 0; i < names.length; i++) row[itemAt(names, i)] = values[i]
    rows[n] = row
  }
  return rows as Row[]
}
