import { EventEmitter } from 'node:events'
import type { WorkerEvents } from 'graphile-worker'
import type { Logger } from 'pino'
import { required } from '../checked.ts'
import { type Db, type Fragment, openSql, type Sql, transaction } from '../db/sql.ts'
import { type Loop, startLoop } from './loop.ts'

/**
 * Which servers of this database are up. Each holds an advisory lock under its number for as long as it lives, so a
 * server that was killed is known to be gone at once, and beats now and then. From that follow two things:
 *
 *  - since when events could come in without a break: silence before that proves nothing (domain/liveness.ts). It
 *    begins again with a server that starts while no other is up, and after a pause in which none could beat, because
 *    all were stopped or the database was away;
 *  - which jobs of the queue are locked by dead servers: those are released, or they would wait for hours.
 */
export interface ServerHeartbeat {
  readonly reachableSince: Date
  /** Where the queue says under which name it takes jobs. */
  readonly poolEvents: WorkerEvents
  /** @param how.clean whether no job is left: else the other servers must find that this one has ended */
  stop(how: { clean: boolean }): Promise<void>
}

const HEARTBEAT_MS = 3_000
/** Without a beat for longer, events may have been unable to come in. */
const BREAK_S = 30
/** A server without its lock is given so long to take it again, before its jobs are given to others. */
const GRACE_S = 15
/** Advisory locks of two numbers: this, and a server's own. */
const SERVER_LOCKS = 7_041_781

export async function startServerHeartbeat(options: {
  url: string
  now: () => Date
  log: Logger
}): Promise<ServerHeartbeat> {
  const { now, log } = options
  // One connection alone: the lock is its own.
  const sql = openSql(options.url, { name: 'presence', max: 1 })
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
    const given = pools.splice(0, Math.max(0, pools.length - 1))
    if (given.length > 0) await unlockJobs(sql, given)
    await sql`/* presence.beat */
      update servers set seen_at = clock_timestamp(), pool_id = ${pools.at(-1) ?? null} where number = ${number}`
    since = await noteReachable(sql, now())
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
      if (!failing) log.warn({ err }, 'telling the other servers of this one failed; it is tried again')
      failing = true
    },
  })
  return {
    get reachableSince() {
      // A server that cannot write its heartbeat does not know the state of the others.
      return performance.now() - beatAt > BREAK_S * 1000 ? now() : since
    },
    poolEvents,
    async stop({ clean }) {
      await loop.stop()
      if (clean) await sql`/* presence.leave */ delete from servers where number = ${number}`.catch(() => {})
      await sql.end({ timeout: 1 })
    },
  }
}

/** The servers that hold their lock, wherever they are. */
const liveServers = (db: Db): Fragment => db`
  select l.objid::int8 as number, l.pid from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.classid = ${SERVER_LOCKS}::int8::oid
    and l.database = (select oid from pg_database where datname = current_database())`

/** @returns the number of this server, whose lock this connection holds: the old one, or another after a loss */
async function holdLock(sql: Sql, number: number, now: () => Date): Promise<number> {
  const [held] = await sql<{ mine: boolean }[]>`/* presence.held */
    select exists (
      select from servers s join (${liveServers(sql)}) u on u.number = s.number
      where s.number = ${number} and u.pid = pg_backend_pid()) mine`
  if (held?.mine === true) return number
  const [row] = await sql<{ number: number }[]>`/* presence.enter */
    insert into servers (started_at, seen_at, announces)
    values (${now().toISOString()}, clock_timestamp(), true) returning number`
  const own = required(row).number
  await sql`/* presence.lock */ select pg_advisory_lock(${SERVER_LOCKS}::int4, ${own}::int4)`
  await transaction(sql, async (tx) => {
    // In turn: of two that start at once, the second finds the first.
    await tx`/* presence.turn */ select from reachable for update`
    if (number !== 0) {
      await tx`/* presence.leave_old */ delete from servers where number = ${number}`
      return
    }
    await tx`/* presence.first */
      insert into reachable (since, seen_at) values (${now().toISOString()}, clock_timestamp())
      on conflict (one) do update set since = excluded.since
      where not exists (select from (${liveServers(tx)}) u where u.number <> ${own})`
  })
  return own
}

/** Notes that events can come in now. @returns since when they could without a break, in the servers' own time */
async function noteReachable(sql: Sql, now: Date): Promise<Date> {
  const [row] = await sql<{ since: string }[]>`/* presence.reachable */
    insert into reachable (since, seen_at) values (${now.toISOString()}, clock_timestamp())
    on conflict (one) do update set
      since = case when reachable.seen_at < clock_timestamp() - ${BREAK_S} * interval '1 second'
        then excluded.since else reachable.since end,
      seen_at = greatest(reachable.seen_at, excluded.seen_at)
    returning since`
  return new Date(row?.since ?? now)
}

/** Removes dead servers and unlocks their jobs. */
async function removeDeadServers(sql: Sql, own: number, log: Logger): Promise<void> {
  const dead = await sql<{ number: number; pool_id: string | null }[]>`/* presence.bury */
    delete from servers s
    where s.number <> ${own} and s.seen_at < clock_timestamp() - ${GRACE_S} * interval '1 second'
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
  sql`/* presence.unlock_jobs */ select graphile_worker.force_unlock_workers(${pools}::text[])`
