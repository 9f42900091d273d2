/**
 * The list of 25,000 batches in the order of a metric or a parameter, and filtered by one, against the same page newest
 * first: with every field stored, and computed.
 */
import { performance } from 'node:perf_hooks'
import { startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { openSql, PAGED_READS, type Sql } from '../src/db/sql.ts'
import type { Known } from '../src/domain/caller.ts'
import { NEWEST_FIRST } from '../src/domain/keyset-pages.ts'
import { type BatchOrder, EVERY_BATCH, listBatches, readQueries } from '../src/domain/lists/index.ts'
import { createWriter } from '../src/stream/commit.ts'
import { storeFieldsOfBatches } from '../src/workers/batch-fields.ts'
import { seedManyBatches } from './kit/many-batches.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { startDatabase } from './kit/server.ts'

export const longMinutes = 4

const BATCHES = 25_000
const LIMIT = 50
const ROUNDS = 21
const COMPUTED_ROUNDS = 5

const by = (text: string, descending = false): BatchOrder => ({
  by: { name: text },
  descending,
})

const LISTS: [string, BatchOrder, string[]][] = [
  ['by the last of a metric', by('last.series/3'), []],
  ['by the greatest of a metric, descending', by('max.series/3', true), []],
  ['by a parameter', by('param.lr'), []],
  ['by a parameter of three texts', by('param.opt', true), []],
  ['where a metric is low (1 in 2)', NEWEST_FIRST, ['last.series/3<60']],
  ['where a metric is low (1 in 1,000)', NEWEST_FIRST, ['last.series/3<0.1']],
  ['where a parameter has a value (1 in 1,000)', NEWEST_FIRST, ['lr=0.5']],
  ['where a metric is low (1 in 2), by another', by('last.series/4'), ['last.series/3<60']],
  ['where a metric is low (1 in 2), by it, descending', by('last.series/3', true), ['last.series/3<60']],
]

export async function benchListOrder(): Promise<Figure[]> {
  const database = await startDatabase()
  const { config } = readConfig({ SVC_DATABASE_URL: database.url, SVC_PORT: '0', SVC_LOG_LEVEL: 'error' })
  await (await startApp(config)).stop()
  const sql = openSql(database.url, { name: 'bench', max: 1, settings: PAGED_READS })
  try {
    const { admin } = await seedManyBatches(sql, BATCHES)
    await seedSeries(sql)
    const caller: Known = {
      kind: 'known',
      user: { id: admin, email: '', name: '', role: 'admin' },
      via: 'session',
      credentialId: admin,
    }
    const page = async (order: BatchOrder, where: string[], rounds: number): Promise<number> => {
      const filter = { ...EVERY_BATCH, where: readQueries('batch', where) }
      const times: number[] = []
      for (let round = 0; round < rounds; round++) {
        const begin = performance.now()
        await listBatches(sql, caller, filter, { limit: LIMIT + 1, after: undefined }, order)
        times.push(performance.now() - begin)
      }
      return median(times)
    }
    const computed: number[] = []
    for (const [, order, where] of LISTS) computed.push(await page(order, where, COMPUTED_ROUNDS))
    const writer = createWriter(sql)
    const begun = performance.now()
    await storeFieldsOfBatches({ sql, writer, log: { warn: console.error } as never })
    const storing = (performance.now() - begun) / BATCHES
    await sql.unsafe('/* bench.vacuum_fields */ vacuum analyze batch_fields, batch_progress')
    const [size] = await sql<{ bytes: number; n: number }[]>`/* bench.size_of_fields */
      select pg_total_relation_size('batch_fields')::float8 bytes, count(*)::int n from batch_fields`
    const figures: Figure[] = []
    for (const [i, [what, order, where]] of LISTS.entries()) {
      const newest = await page(NEWEST_FIRST, [], ROUNDS)
      const ms = await page(order, where, ROUNDS)
      figures.push({
        what: `page of ${LIMIT} of ${BATCHES.toLocaleString('en')} batches ${what}`,
        value: `${ms.toFixed(2)} ms (computed ${computed[i]?.toFixed(0)})`,
        limit: `newest first ${newest.toFixed(2)} ms`,
        ratio: ms / newest,
        aim: { most: 3 },
      })
    }
    figures.push({
      what: 'storing the fields of a batch with ten metrics and three parameters',
      value: `${storing.toFixed(2)} ms, ${((size?.bytes ?? 0) / BATCHES / 1000).toFixed(1)} kB`,
      limit: `${((size?.n ?? 0) / BATCHES).toFixed(0)} rows`,
    })
    return figures
  } finally {
    await sql.end({ timeout: 5 })
    await database.stop()
  }
}

/** Two jobs of each batch, with ten series and three parameters, straight into the tables. */
async function seedSeries(sql: Sql): Promise<void> {
  await sql`/* seed.jobs_with_series */
    with made as (
      insert into jobs (batch_key, project_key, id, status, started_at, ended_at, model, dataset, params)
      select b.key, b.project_key, 'seed' || i, 'completed', b.started_at, b.started_at, 'resnet' || b.key % 7, 'cifar',
        jsonb_build_object('lr', (b.key * 7919 % 1000) / 1000.0, 'seed', i, 'opt', 'adam' || b.key % 3)
      from batches b, generate_series(1, 2) i returning key, batch_key, started_at)
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, max_epoch, series, last_epoch,
      last_value, min_value, max_value)
    select key, batch_key, started_at, started_at, 100, 99, s.names, s.epochs, s.vals, s.vals, s.vals
    from made cross join lateral (
      select array_agg('series/' || i) names, array_agg(99) epochs,
        array_agg(case when (key * 31 + i) % 97 = 0 then 'NaN' else (key * 7919 * i % 10007) * 0.0123456789 end) vals
      from generate_series(1, 10) i) s`
  await sql.unsafe('vacuum analyze')
}

if (process.argv[1] === import.meta.filename) printFigures('Order of lists', await benchListOrder())
