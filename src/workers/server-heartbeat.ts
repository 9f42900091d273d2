import { EventEmitter } from 'node:events'
import type { WorkerEvents } from 'graphile-worker'
import type { Logger } from 'pino'
import { required } from '../checked.ts'
import { type Db, type Fragment, openSql, type Sql, transaction } from '../db/sql.ts'
import { type Loop, startLoop } from './loop.ts'

/**
 * Tracks which servers of this database are alive. Each server holds an advisory lock under its number while it lives,
 * so a killed server is noticed at once, and it writes a heartbeat at intervals. This has two uses:
 *
 * - Since when events could be received without interruption: silence before that proves nothing (domain/liveness.ts).
 *   This restarts when a server starts while no other is alive, and after a gap in which no server could write its
 *   heartbeat, because all were stopped or the database was unavailable.
 * - Which jobs of the queue are locked by dead servers: they are unlocked, or they would wait for hours.
 */
export interface ServerHeartbeat {
  readonly reachableSince: Date
  /** The queue emits the ids of its worker pools here. */
  readonly poolEvents: WorkerEvents
  /** @param how.clean whether all jobs have ended; if not, other servers must detect that this one is gone */
  stop(how: { clean: boolean }): Promise<void>
}

const HEARTBEAT_MS = 3_000
/** After a longer gap between heartbeats, events may have been impossible to receive. */
const MAX_GAP_S = 30
/** How long a server may be without its lock, for example to reconnect, before its jobs are unlocked. */
const DEAD_AFTER_S = 15
/** First key of the advisory locks; the second is the number of the server. */
const SERVER_LOCKS = 7_041_781

export async function startServerHeartbeat(options: {
  url: string
  now: () => Date
  log: Logger
}): Promise<ServerHeartbeat> {
  const { now, log } = options
  // A single connection that stays open, because the lock belongs to it.
  const sql = openSql(options.url, { name: 'heartbeat', max: 1, idleS: 0 })
  const poolEvents: WorkerEvents = new EventEmitter()
  /** The worker pools of this process; all but the newest have ended. */
  const pools: string[] = []
  poolEvents.on('pool:create', ({ workerPool }) => {
    pools.push(workerPool.id)
    void beat().catch(() => {})
  })
  let number = 0
  let since = now()
  let beatAt = performance.now()

  async function beat(): Promise<void> {
    number = await holdLock(sql, number, now)
    const endedPools = pools.splice(0, Math.max(0, pools.length - 1))
    if (endedPools.length > 0) await unlockJobs(sql, endedPools)
    await sql`/* heartbeat.beat */
      update servers set seen_at = clock_timestamp(), pool_id = ${pools.at(-1) ?? null} where number = ${number}`
    since = await recordReachable(sql, now())
    beatAt = performance.now()
    await removeDeadServers(sql, number, log)
  }

  await beat().catch(async (error) => {
    await sql.end({ timeout: 1 })
    throw error
  })
  let failing = false
  const loop: Loop = startLoop({
    everyMs: HEARTBEAT_MS,
    work: async () => {
      await beat()
      failing = false
    },
    failed: (err) => {
      if (!failing) log.warn({ err }, 'the heartbeat of this server failed; it is tried again')
      failing = true
    },
  })
  return {
    get reachableSince() {
      // A server that cannot write its heartbeat does not know the state of the others.
      return performance.now() - beatAt > MAX_GAP_S * 1000 ? now() : since
    },
    poolEvents,
    async stop({ clean }) {
      await loop.stop()
      if (clean)
        await sql`/* heartbeat.remove */ delete from servers where number = ${number}`.catch(() => {})
      await sql.end({ timeout: 1 })
    },
  }
}

/** The servers that hold their lock, on any host. */
const liveServers = (db: Db): Fragment => db`
  select l.objid::int8 as number, l.pid from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.classid = ${SERVER_LOCKS}::int8::oid
    and l.database = (select oid from pg_database where datname = current_database())`

/**
 * Makes sure that this connection holds the lock of a server number.
 * @returns the number: the previous one, or a new one if that lock was lost
 */
async function holdLock(sql: Sql, number: number, now: () => Date): Promise<number> {
  const [held] = await sql<{ mine: boolean }[]>`/* heartbeat.lock_held */
    select exists (
      select from servers s join (${liveServers(sql)}) u on u.number = s.number
      where s.number = ${number} and u.pid = pg_backend_pid()) mine`
  if (held?.mine === true) return number
  const [row] = await sql<{ number: number }[]>`/* heartbeat.register */
    insert into servers (started_at, seen_at, announces)
    values (${now().toISOString()}, clock_timestamp(), true) returning number`
  const own = required(row).number
  await sql`/* heartbeat.lock */ select pg_advisory_lock(${SERVER_LOCKS}::int4, ${own}::int4)`
  await transaction(sql, async (tx) => {
    // Serializes starting servers: of two that start at once, the second sees the first.
    await tx`/* heartbeat.lock_reachable */ select from reachable for update`
    if (number !== 0) {
      await tx`/* heartbeat.remove_old */ delete from servers where number = ${number}`
      return
    }
    await tx`/* heartbeat.first */
      insert into reachable (since, seen_at) values (${now().toISOString()}, clock_timestamp())
      on conflict (one) do update set since = excluded.since
      where not exists (select from (${liveServers(tx)}) u where u.number <> ${own})`
  })
  return own
}

/**
 * Records that events can be received now.
 * @returns since when that was possible without interruption, by the servers' clocks
 */
async function recordReachable(sql: Sql, now: Date): Promise<Date> {
  const [row] = await sql<{ since: string }[]>`/* heartbeat.reachable */
    insert into reachable (since, seen_at) values (${now.toISOString()}, clock_timestamp())
    on conflict (one) do update set
      since = case when reachable.seen_at < clock_timestamp() - ${MAX_GAP_S} * interval '1 second'
        then excluded.since else reachable.since end,
      seen_at = greatest(reachable.seen_at, excluded.seen_at)
    returning since`
  return new Date(row?.since ?? now)
}

/** Removes dead servers and unlocks their jobs. */
async function removeDeadServers(sql: Sql, own: number, log: Logger): Promise<void> {
  const dead = await sql<{ number: number; pool_id: string | null }[]>`/* heartbeat.remove_dead */
    delete from servers s
    where s.number <> ${own} and s.seen_at < clock_timestamp() - ${DEAD_AFTER_S} * interval '1 second'
      and not exists (select from (${liveServers(sql)}) u where u.number = s.number)
    returning s.number, s.pool_id`
  if (dead.length === 0) return
  log.info({ servers: dead.map((server) => server.number) }, 'servers ended without a shutdown')
  await unlockJobs(
    sql,
    dead.flatMap((server) => server.pool_id ?? []),
  )
}

const unlockJobs = (sql: Sql, pools: string[]) =>
  sql`/* heartbeat.unlock_jobs */ select graphile_worker.force_unlock_workers(${pools}::text[])`
