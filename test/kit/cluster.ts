import { setTimeout as sleep } from 'node:timers/promises'
import { openSql, type Sql } from '../../src/db/sql.ts'

/**
 * A Citus cluster for tests: its nodes hold databases of the same names, and a database is one of all of them. The copy of a
 * template is made on every node; what Citus knows of the nodes and the tables is in the database, and is copied with it.
 */

/** The addresses of the nodes' databases `postgres`, the coordinator's first. */
export async function clusterNodes(coordinator: string): Promise<string[]> {
  const sql = openSql(coordinator, { name: 'test setup', max: 1 })
  try {
    const rows = await sql<{ host: string; port: number }[]>`
      select nodename as host, nodeport as port from pg_dist_node where noderole = 'primary' order by groupid`
    return rows.map(({ host, port }) => addressOf(coordinator, { host, port, database: 'postgres' }))
  } finally {
    await sql.end({ timeout: 5 })
  }
}

export function addressOf(
  url: string,
  { host, port, database }: { host?: string; port?: number; database: string },
): string {
  const address = new URL(url)
  if (host !== undefined) address.hostname = host
  if (port !== undefined) address.port = String(port)
  address.pathname = `/${database}`
  return address.href
}

/**
 * An empty database of this name on every node, with what Citus knows of the nodes.
 * @param ways where the coordinator is to reach its workers, if not at their own addresses
 */
export async function createOnCluster(
  nodes: readonly string[],
  name: string,
  shards: number,
  ways: readonly { port: number }[] = [],
): Promise<void> {
  await onEach(nodes, (sql) => sql.unsafe(`create database ${name}`))
  await onEach(nodes, (sql) => sql.unsafe(`alter database ${name} set citus.shard_count = ${shards}`))
  await onEach(
    nodes.map((node) => addressOf(node, { database: name })),
    (sql) => sql.unsafe('create extension citus'),
  )
  const [coordinator, ...workers] = nodes.map((node) => new URL(node))
  if (coordinator === undefined) return
  await on(addressOf(coordinator.href, { database: name }), async (sql) => {
    await sql`select citus_set_coordinator_host(${coordinator.hostname}, ${Number(coordinator.port)})`
    for (const [i, { hostname, port }] of workers.entries())
      await sql`select citus_add_node(${hostname}, ${ways[i]?.port ?? Number(port)})`
  })
}

/** Where a test's own connection looks first. */
export const VIEWS = 'looked_at'

/**
 * A test's statements make joins that Citus refuses of distributed tables. So a test looks at these
 * through functions, whose inside Citus does not plan: each gathers the rows of all workers.
 */
export async function createViews(url: string, tables: readonly string[]): Promise<void> {
  await on(url, async (sql) => {
    await sql.unsafe('set citus.enable_ddl_propagation = off')
    await sql.unsafe(`create schema ${VIEWS}`)
    for (const table of tables) {
      const [columns] = await sql<{ list: string }[]>`
        select string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum) list
        from pg_attribute where attrelid = ${`public.${table}`}::regclass and attnum > 0 and not attisdropped`
      // Of records, not of the table's own type: Citus refuses to alter a table that a view depends on in a circle.
      await sql.unsafe(`create function ${VIEWS}.all_${table}() returns setof record stable language plpgsql
        as $$ begin return query select * from public.${table}; end $$`)
      await sql.unsafe(
        `create view ${VIEWS}.${table} as select * from ${VIEWS}.all_${table}() as t (${columns?.list})`,
      )
    }
  })
}

/** Ends all connections to a template, those of Citus's maintenance too: else it could not be copied. */
export async function closeTemplate(nodes: readonly string[], name: string): Promise<void> {
  for (const node of nodes)
    await on(node, async (sql) => {
      await sql.unsafe(`alter database ${name} with allow_connections false`)
      for (;;) {
        const left = await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
        if (left.length === 0) break
        await sleep(20)
      }
    })
}

export const copyOnCluster = (nodes: readonly string[], name: string, template: string): Promise<void> =>
  onEach(nodes, (sql) => sql.unsafe(`create database ${name} template ${template}`))

/**
 * Waits until no transaction is prepared and not ended in a database: what a node did not get to commit when it went, Citus
 * commits once it is back.
 */
export async function awaitPrepared(urls: readonly string[], patienceMs: number): Promise<void> {
  const begun = performance.now()
  for (const url of urls)
    await on(url, async (sql) => {
      for (;;) {
        const left =
          await sql`select gid, prepared from pg_prepared_xacts where database = current_database()`
        if (left.length === 0) break
        if (performance.now() - begun > patienceMs)
          throw new Error(`still prepared at ${url}: ${JSON.stringify(left)}`)
        await sleep(100)
      }
    })
}

/** Transactions that were prepared and never ended would keep the database from going. */
export const dropOnCluster = (nodes: readonly string[], name: string): Promise<void> =>
  onEach(nodes, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`))

async function onEach(nodes: readonly string[], work: (sql: Sql) => Promise<unknown>): Promise<void> {
  await Promise.all(nodes.map((node) => on(node, work)))
}

async function on(url: string, work: (sql: Sql) => Promise<unknown>): Promise<void> {
  const sql = openSql(url, { name: 'test administrator', max: 1 })
  await work(sql).finally(() => sql.end({ timeout: 5 }))
}
