import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CopyRows } from '../../src/db/copy.ts'
import { openPipeline, type Pipeline } from '../../src/db/pipeline.ts'
import type { Sql } from '../../src/db/sql.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

// Binary COPY (src/db/copy.ts) must store the same as the same values written as text.

const COLUMNS = ['n', 'small', 'whole', 'long', 'id', 'at', 'words', 'vals']

let database: TestDatabase
let sql: Sql
let trips: Pipeline
beforeAll(async () => {
  database = await freshDatabase()
  sql = database.sql
  await sql`create table copied (
    n int, small smallint, whole int, long bigint, id uuid, at timestamptz, words text, vals float8[])`
  await sql`create table written (like copied)`
  trips = openPipeline(database.url, { name: 'test' })
  while (!trips.ready) await new Promise((resolve) => setTimeout(resolve, 10))
})
afterAll(async () => {
  await trips?.end()
  await database?.drop()
})

const digits = (n: number, of: fc.Arbitrary<number>) => of.map((value) => String(value).padStart(n, '0'))
const instants = fc
  .tuple(
    digits(4, fc.integer({ min: 1, max: 9999 })),
    digits(2, fc.integer({ min: 1, max: 12 })),
    digits(2, fc.integer({ min: 1, max: 28 })),
    digits(2, fc.integer({ min: 0, max: 23 })),
    digits(2, fc.integer({ min: 0, max: 59 })),
    digits(2, fc.integer({ min: 0, max: 59 })),
    digits(6, fc.integer({ min: 0, max: 999_999 })),
  )
  .map(([y, mo, d, h, mi, s, us]) => `${y}-${mo}-${d}T${h}:${mi}:${s}.${us}Z`)
const rows = fc.array(
  fc.record({
    small: fc.integer({ min: -32_768, max: 32_767 }),
    whole: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    long: fc.option(fc.maxSafeInteger()),
    id: fc.oneof(
      fc.uuid(),
      fc.uuid().map((id) => id.toUpperCase()),
    ),
    at: instants,
    words: fc.string({ unit: 'grapheme', maxLength: 300 }).filter((text) => !text.includes('\0')),
    vals: fc.array(fc.option(fc.double(), { nil: undefined }), { maxLength: 20 }),
  }),
  { minLength: 1, maxLength: 20 },
)
type Row = typeof rows extends fc.Arbitrary<(infer R)[]> ? R : never

const copyOf = (given: readonly Row[]): CopyRows => {
  // Too little room, so that it has to grow.
  const copy = new CopyRows('copied', COLUMNS, 100)
  for (const [n, row] of given.entries()) {
    copy.row().int4(n).int2(row.small).int4(row.whole)
    if (row.long === null) copy.null()
    else copy.int8(row.long)
    copy.uuid(row.id).timestamptz(row.at).string(row.words).float8s(row.vals)
  }
  return copy
}
const step = (copy: CopyRows) => ({ name: copy.text, text: copy.text, values: [], rows: copy })

const literal = (vals: Row['vals']): string => `{${vals.map((value) => value ?? 'NULL').join(',')}}`

test('rows written by binary COPY are the same as from text, for any values', async () => {
  await fc.assert(
    fc.asyncProperty(rows, async (given) => {
      await sql`truncate copied, written`
      await trips.run([step(copyOf(given))])
      for (const [n, r] of given.entries()) {
        await sql`insert into written values (${n}, ${r.small}, ${r.whole}, ${r.long}::bigint, ${r.id}, ${r.at}::text::timestamptz,
          ${r.words}, ${literal(r.vals)}::text::float8[])`
      }
      const read = (table: string) => sql`select t::text from ${sql(table)} t order by n`
      expect(await read('copied')).toEqual(await read('written'))
      expect(await read('copied')).toHaveLength(given.length)
    }),
    { numRuns: 100 },
  )
})

test('rows after a failed step are skipped, and the connection stays usable', async () => {
  await sql`truncate copied`
  const [row] = fc.sample(rows, 1) as [Row[]]
  const failing = { name: 'fails', text: `select 'no number'::text::int`, values: [] }
  await expect(trips.run([failing, step(copyOf(row))])).rejects.toMatchObject({ code: '22P02' })
  expect((await sql`select from copied`).length).toBe(0)
  await trips.run([step(copyOf(row)), { name: 'one', text: 'select 1', values: [] }])
  expect((await sql`select from copied`).length).toBe(row.length)
})

test('copied rows are rolled back if a later statement fails', async () => {
  await sql`truncate copied`
  const [row] = fc.sample(rows, 1) as [Row[]]
  const failing = { name: 'fails', text: `select 'no number'::text::int`, values: [] }
  await expect(trips.run([step(copyOf(row)), failing])).rejects.toMatchObject({ code: '22P02' })
  expect((await sql`select from copied`).length).toBe(0)
})
