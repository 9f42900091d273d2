import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import type { Change } from '../../src/stream/change.ts'
import { commit, createWriter, type Writer } from '../../src/stream/commit.ts'
import type { Frame } from '../../src/stream/frame.ts'
import { createHub, type Hub } from '../../src/stream/hub.ts'
import type { Subscription } from '../../src/stream/subscription.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { SOON } from './stream.ts'

/** Notifications and the poll behind them, on a hub of the test's own that sends the keys of each change. */
let database: TestDatabase
let pool: Sql
let writer: Writer
beforeAll(async () => {
  database = await freshDatabase()
  pool = openSql(database.url, { name: 'test hub', max: 4 })
  writer = createWriter(pool)
})
afterAll(async () => {
  await pool?.end({ timeout: 5 })
  await database?.drop()
})

const HOUR = 3_600_000

async function withHub(
  options: {
    pollMs: number
    describe?: (keys: number[]) => Promise<void>
    onControl?: () => Promise<void>
  },
  work: (hub: Hub<null>, failures: string[]) => Promise<void>,
): Promise<void> {
  const failures: string[] = []
  const hub = createHub<null>({
    sql: pool,
    listenUrl: database.url,
    loaders: {
      batches: async (changes) => {
        await options.describe?.(changes.flatMap((change) => change.keys))
        return changes.map(({ keys }) => ({
          payloadFor: () => ({ key: '', text: () => JSON.stringify({ keys }) }),
        }))
      },
    },
    onControl: options.onControl ?? (async () => {}),
    controlTypes: new Set(['access']),
    failed: (_error, what) => failures.push(what),
    now: () => new Date(),
    pollMs: options.pollMs,
  })
  await hub.start()
  await work(hub, failures).finally(() => hub.stop())
}

const follow = (hub: Hub<null>, channel = 'dashboard') =>
  hub.subscribe(new Map([[channel, { channel, kind: channel, viewer: null }]]), { closed: () => {} })
const silent = (): Writer => ({ ...writer, wake: () => {} })
const write = (key: number, through: Writer = writer): Promise<void> =>
  commit(through, async () => {
    const changes: Change[] = [{ channel: 'dashboard', type: 'batches', keys: [key] }]
    return { result: undefined, changes }
  })
const keysOf = (result: IteratorResult<Frame, undefined>) =>
  (result.value?.payload() as { keys: number[] } | undefined)?.keys

const listeners = () => database.sql<{ pid: number }[]>`
  select pid from pg_stat_activity where datname = current_database() and application_name = 'svc listen'`
const killListener = async () => {
  await expect.poll(async () => (await listeners()).length, SOON).toBe(1)
  const [{ pid } = { pid: 0 }] = await listeners()
  await database.sql`select pg_terminate_backend(${pid})`
  return pid
}

test('a change sends a notification and arrives at once, before the next poll', async () => {
  await withHub({ pollMs: HOUR }, async (hub) => {
    await expect.poll(async () => (await listeners()).length, SOON).toBe(1)
    const subscription = follow(hub)
    await write(1)
    // The poll is an hour away.
    expect(keysOf(await subscription.next())).toEqual([1])
  })
})

test('a writer wakes the readers of its own process without the database', async () => {
  await withHub({ pollMs: HOUR }, async (hub) => {
    await expect.poll(async () => (await listeners()).length, SOON).toBe(1)
    // It cannot send notifications.
    const away = openSql(database.url, { name: 'test away', max: 1 })
    await away.end()
    const subscription = follow(hub)
    await write(1, { ...createWriter(away, { wakeLocal: hub.wake }), sql: pool })
    expect(keysOf(await subscription.next())).toEqual([1])
  })
})

test('a killed LISTEN connection is replaced within 5 s, and changes made meanwhile arrive then', async () => {
  await withHub({ pollMs: HOUR }, async (hub) => {
    const subscription = follow(hub)
    const took: number[] = []
    for (let round = 0; round < 3; round++) {
      const pid = await killListener()
      const begun = performance.now()
      await write(round)
      expect(keysOf(await subscription.next())).toEqual([round])
      await expect.poll(async () => (await listeners()).some((other) => other.pid !== pid), SOON).toBe(true)
      took.push(performance.now() - begun)
    }
    // The best of three, because any one may wait for other work of the machine.
    expect(Math.min(...took)).toBeLessThan(5_000)
  })
})

test('a change without a notification is found by the poll', async () => {
  await withHub({ pollMs: 200 }, async (hub) => {
    const subscription = follow(hub)
    await write(7, silent())
    expect(keysOf(await subscription.next())).toEqual([7])
  })
})

test('a change that cannot become a message is logged and does not delay others', async () => {
  const describe = async (keys: number[]) => {
    if (keys.includes(13)) throw new Error('no such thing')
  }
  await withHub({ pollMs: 50, describe }, async (hub, failures) => {
    const subscription = follow(hub)
    for (const key of [12, 13, 14]) await write(key, key === 14 ? writer : silent())
    expect(keysOf(await subscription.next())).toEqual([12])
    expect(keysOf(await subscription.next())).toEqual([14])
    expect(failures).toEqual([expect.stringMatching(/of type batches/)])
    expect(hub.counts.failed).toBe(1)
  })
})

test('a change after a change of access reaches no client before that is checked', async () => {
  let subscription: Subscription | undefined
  const onControl = async () => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    await subscription?.return()
  }
  await withHub({ pollMs: 50, onControl }, async (hub) => {
    subscription = follow(hub)
    const access: Change = { channel: 'project:p', type: 'access', keys: [1] }
    await commit(silent(), async () => ({ result: undefined, changes: [access] }))
    await write(15)
    expect(await subscription.next()).toEqual({ done: true, value: undefined })
  })
})

test('a read for a message is retried while the database is unreachable: nothing is skipped', async () => {
  let away = 2
  const describe = async () => {
    if (away-- > 0) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
  }
  await withHub({ pollMs: 50, describe }, async (hub) => {
    const subscription = follow(hub)
    for (const key of [1, 2, 3]) await write(key)
    for (const key of [1, 2, 3]) expect(keysOf(await subscription.next())).toEqual([key])
  })
})

test('a change becomes a message once for any number of subscribers, and not at all without one', async () => {
  const described: number[] = []
  const describe = async (keys: number[]) => void described.push(...keys)
  await withHub({ pollMs: HOUR, describe }, async (hub) => {
    await expect.poll(async () => (await listeners()).length, SOON).toBe(1)
    const begun = hub.cursor
    await write(1)
    await expect.poll(() => hub.cursor, SOON).toBeGreaterThan(begun)
    const subscriptions = Array.from({ length: 50 }, () => follow(hub))
    const cursor = hub.cursor
    await write(2)
    for (const subscription of subscriptions) expect(keysOf(await subscription.next())).toEqual([2])
    const late = Array.from({ length: 20 }, () =>
      hub.subscribe(new Map([['dashboard', { channel: 'dashboard', kind: 'dashboard', viewer: null }]]), {
        after: cursor,
        closed: () => {},
      }),
    )
    for (const subscription of late) expect(keysOf(await subscription.next())).toEqual([2])
    expect(described).toEqual([2])
  })
})

test('a subscription that is closed while it waits ends and is removed', async () => {
  await withHub({ pollMs: HOUR }, async (hub) => {
    let closed = 0
    const subscription = hub.subscribe(
      new Map([['dashboard', { channel: 'dashboard', kind: 'd', viewer: null }]]),
      {
        closed: () => closed++,
      },
    )
    const waiting = subscription.next()
    await subscription.return()
    await subscription.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(closed).toBe(1)
    expect(hub.counts.streams).toBe(0)
  })
})
