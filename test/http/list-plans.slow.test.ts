import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Crowd, seedManyBatches } from '../../bench/kit/many-batches.ts'
import { openSql, PAGED_READS, type Sql } from '../../src/db/sql.ts'
import { visibleProjectKeys } from '../../src/domain/access.ts'
import type { Known } from '../../src/domain/caller.ts'
import type { SortPosition } from '../../src/domain/keyset-pages.ts'
import {
  type BatchFilter,
  type BatchOrder,
  EVERY_BATCH,
  EVERY_JOB,
  listBatches,
  listJobs,
  readQueries,
  searchBatches,
} from '../../src/domain/lists/index.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

/** Read from the plan that PostgreSQL really takes on 10,000 batches: a page must cost about a page. */
const PAGE = 51
/** A page of each of a member's three projects where one row in three passes, the page itself for its columns, and one to spare. */
const FEW_PAGES = 11 * PAGE
let database: TestDatabase
let crowd: Crowd
/** Reads as the server reads. */
let sql: Sql
beforeAll(async () => {
  database = await freshDatabase()
  sql = openSql(database.url, { name: 'test reads', max: 1, settings: PAGED_READS })
  crowd = await seedManyBatches(database.sql, 10_000)
  await database.sql`
    insert into jobs (batch_key, id, status, started_at, model, dataset)
    select key, 'only', case when key % 500 = 0 then 'failed' else 'completed' end, started_at,
      'Model-' || key % 40, 'Set-' || key % 30 from batches`
  await database.sql`
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at)
    select key, batch_key, started_at, started_at from jobs`
  await database.sql.unsafe('vacuum analyze')
})
afterAll(async () => {
  await sql?.end({ timeout: 5 })
  await database?.drop()
})

const as = (id: string, role: 'admin' | 'user'): Known => ({
  kind: 'known',
  user: { id, email: '', name: '', role },
  via: 'session',
  credentialId: id,
})

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** Runs `work` and explains its last statement, with the values that it had. */
async function planOf(work: () => Promise<unknown>): Promise<Plan[]> {
  const { options } = sql as unknown as {
    options: { debug: false | ((connection: number, query: string, parameters: unknown[]) => void) }
  }
  let last: { query: string; parameters: unknown[] } | undefined
  options.debug = (_, query, parameters) => {
    last = { query, parameters }
  }
  await work()
  options.debug = false
  if (last === undefined) throw new Error('nothing was asked')
  const rows = await sql.unsafe(`explain (analyze, format json) ${last.query}`, last.parameters as string[])
  const nodes: Plan[] = []
  const walk = (plan: Plan) => {
    nodes.push(plan)
    plan.Plans?.forEach(walk)
  }
  walk(rows[0]?.['QUERY PLAN'][0].Plan)
  return nodes
}

/** Rows of the table that the plan touched, kept or thrown away. */
const touched = (nodes: Plan[], table: string): number =>
  nodes
    .filter((node) => node['Relation Name'] === table)
    .reduce(
      (sum, node) =>
        sum +
        node['Actual Loops'] *
          (node['Actual Rows'] +
            (node['Rows Removed by Filter'] ?? 0) +
            (node['Rows Removed by Index Recheck'] ?? 0)),
      0,
    )

const scansWhole = (nodes: Plan[], table: string): boolean =>
  nodes.some((node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === table)

const position: SortPosition = { rank: 0, number: 0, text: '', startedAt: '2026-01-04T00:00:00Z', key: 4_000 }

describe.each(['member', 'admin'] as const)('the list of 10,000 batches, as %s', (who) => {
  test.each<[string, Partial<BatchFilter>, number?]>([
    ['nothing', {}],
    ['a project', { project: ['project-3'] }],
    ['two projects', { project: ['project-3', 'project-7'] }],
    ['a frequent status', { status: ['completed'] }],
    ['a rare status', { status: ['running'] }],
    ['a host', { host: ['host-7'] }],
    ['an owner', { owner: ['user 21'] }],
    ['a tag of all', { tag: ['all'] }],
    ['a frequent tag', { tag: ['often'] }],
    // An index in the order of the list exists for no word and no tag: of those that are neither rare nor frequent
    // either way costs some pages.
    ['a middling tag', { tag: ['some'] }, 25 * PAGE],
    ['a rare tag', { tag: ['seldom'] }],
    ['a tag of none', { tag: ['nowhere'] }],
    ['a frequent word', { q: ['python'] }],
    ['a rare word', { q: ['needle'] }],
    ['a word of none', { q: ['haystack'] }],
    ['a project and a status', { project: ['project-7'], status: ['failed'] }],
    ['a host and a word', { host: ['host-7'], q: ['needle'] }],
  ])('filtered by %s reads about one page of rows through an index', async (_, filter, atMost = FEW_PAGES) => {
    const caller = who === 'admin' ? as(crowd.admin, 'admin') : as(crowd.member, 'user')
    for (const after of [undefined, position]) {
      const nodes = await planOf(() =>
        listBatches(sql, caller, { ...EVERY_BATCH, ...filter }, { limit: PAGE, after }),
      )
      expect(scansWhole(nodes, 'batches')).toBe(false)
      expect(touched(nodes, 'batches')).toBeLessThan(atMost)
    }
  })
})

test('a search has a plan for its own words, even after many searches', async () => {
  const look = (word: string) =>
    listBatches(
      sql,
      as(crowd.admin, 'admin'),
      { ...EVERY_BATCH, q: [word] },
      { limit: PAGE, after: undefined },
    )
  for (let i = 0; i < 8; i++) await look(i % 2 === 0 ? 'needle' : 'python')
  // A prepared statement may have one plan for all values from its sixth run on.
  const kept = await sql<{ statement: string }[]>`select statement from pg_prepared_statements`
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.filter(({ statement }) => statement.includes('t.search like'))).toEqual([])
})

describe.each(['member', 'admin'] as const)('the sorted list of 10,000 batches, as %s', (who) => {
  const caller = () => (who === 'admin' ? as(crowd.admin, 'admin') : as(crowd.member, 'user'))
  const search = async (order: BatchOrder, after?: SortPosition) => {
    const together = await visibleProjectKeys(sql, caller(), ['project-3'])
    const page = { limit: PAGE, after }
    return searchBatches(sql, caller(), { together }, EVERY_BATCH, order, page)
  }
  test('reads about one page of rows through an index for the oldest of a project', async () => {
    for (const from of [undefined, position]) {
      const nodes = await planOf(() => search({ by: 'started_at', descending: false }, from))
      expect(scansWhole(nodes, 'batches')).toBe(false)
      expect(touched(nodes, 'batches')).toBeLessThan(FEW_PAGES)
    }
  })

  // Values without an index are computed: the project is read, and once more for batches without a value.
  test.each<[string, BatchOrder]>([
    ['a host', { by: 'host', descending: false }],
    ['a parameter', { by: { name: 'param.lr' }, descending: true }],
    ['the least of a series', { by: { name: 'min.val_loss' }, descending: false }],
    ['the last of a series', { by: { name: 'last.val_loss' }, descending: false }],
  ])('%s reads only batches and jobs of that project, through indexes', async (_, order) => {
    const nodes = await planOf(() => search(order))
    for (const table of ['batches', 'jobs', 'job_progress']) {
      expect(scansWhole(nodes, table), table).toBe(false)
      expect(touched(nodes, table), table).toBeLessThan(2 * 500 + 2 * PAGE)
    }
  })
})

describe.each(['member', 'admin'] as const)('with stored fields, as %s', (who) => {
  beforeAll(async () => {
    await database.sql`update batch_progress set fields_known = true where not fields_known`
    await database.sql`
      insert into batch_fields (batch_key, field, rank, number, word, newest)
      select key, f.name, 0, key * 7919 % 1000, '', f.sign * (extract(epoch from started_at) * 1000000)::bigint
      from batches, (values ('last.loss', -1), ('max.loss', 1)) f (name, sign)
      where not exists (select from batch_fields)`
    await database.sql.unsafe('vacuum analyze')
  })
  const caller = () => (who === 'admin' ? as(crowd.admin, 'admin') : as(crowd.member, 'user'))

  // A member sees three projects of twenty, and reads past the batches of the others.
  test.each<[string, BatchOrder, string[]]>([
    ['the last of a series', { by: { name: 'last.loss' }, descending: false }, []],
    ['the greatest of a series', { by: { name: 'max.loss' }, descending: true }, []],
    ['what no batch has', { by: { name: 'last.none' }, descending: false }, []],
    ['a series within a bound', { by: { name: 'last.loss' }, descending: false }, ['last.loss>500']],
    ['a rare value', { by: 'started_at', descending: true }, ['last.loss<1']],
    ['a frequent value', { by: 'started_at', descending: true }, ['loss<500']],
  ])('all batches by %s read a few pages of rows through indexes', async (_, order, where) => {
    const filter = { ...EVERY_BATCH, where: readQueries('batch', where) }
    const nodes = await planOf(() =>
      listBatches(sql, caller(), filter, { limit: PAGE, after: undefined }, order),
    )
    expect(scansWhole(nodes, 'batches')).toBe(false)
    expect(touched(nodes, 'batches')).toBeLessThan((who === 'admin' ? 1 : 20 / 3) * FEW_PAGES)
    expect(touched(nodes, 'job_progress')).toBe(0)
  })
})

describe.each(['member', 'admin'] as const)('the list of 10,000 jobs, as %s', (who) => {
  test.each([
    ['nothing', {}],
    ['a project', { project: ['project-3'] }],
    ['a batch', { batch: ['sweep-3'] }],
    ['a frequent status', { status: ['completed' as const] }],
    ['a rare status', { status: ['failed' as const] }],
    ['a model', { model: ['model-7'] }],
    ['a dataset', { dataset: ['set-7'] }],
  ])('filtered by %s reads about one page of rows through an index', async (_, filter) => {
    const caller = who === 'admin' ? as(crowd.admin, 'admin') : as(crowd.member, 'user')
    for (const after of [undefined, position]) {
      const nodes = await planOf(() =>
        listJobs(sql, caller, { ...EVERY_JOB, ...filter }, { limit: PAGE, after }),
      )
      expect(scansWhole(nodes, 'jobs')).toBe(false)
      expect(touched(nodes, 'jobs')).toBeLessThan(FEW_PAGES)
    }
  })
})

/**
 * How often the statement that `work` runs gets a custom plan, and how often the generic plan, over twelve runs on a
 * connection that never saw it.
 */
async function timesPlanned(
  work: (sql: Sql) => Promise<unknown>,
): Promise<{ custom: number; generic: number } | undefined> {
  const fresh = openSql(database.url, { name: 'test plans', max: 1, settings: PAGED_READS })
  try {
    for (let i = 0; i < 12; i++) await work(fresh)
    const [row] = await fresh<{ custom: number; generic: number }[]>`
      select custom_plans custom, generic_plans generic from pg_prepared_statements
      where statement like '/* batches.search */%'`
    return row && { ...row }
  } finally {
    await fresh.end({ timeout: 5 })
  }
}

test('PostgreSQL keeps one plan for the newest batches, with and without a status, for any number of batches', async () => {
  const page = { limit: PAGE, after: undefined }
  const list = (change: Partial<BatchFilter>) => (fresh: Sql) =>
    listBatches(fresh, as(crowd.admin, 'admin'), { ...EVERY_BATCH, ...change }, page)
  // The first five get custom plans, for comparison.
  expect(await timesPlanned(list({}))).toEqual({ custom: 5, generic: 7 })
  expect(await timesPlanned(list({ status: ['completed'] }))).toEqual({ custom: 5, generic: 7 })
})
