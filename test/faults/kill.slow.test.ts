import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import { killRounds, patienceMs, tellSeed } from '../kit/effort.ts'
import { createClient } from '../kit/http.ts'
import { expectedSums, findLost, newLedger, sendRest, startLoad, storedSums } from './ledger.ts'
import {
  firstToken,
  killPostmaster,
  newHome,
  openDatabase,
  type ServerProcess,
  startServer,
  until,
} from './server-process.ts'

// Contract §1 "Durable before the answer": kill -9 of the server, of PostgreSQL or of both, at any moment under load,
// loses nothing that was acknowledged, and once the rest is sent again every sum is right.

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const VICTIMS = ['server', 'database', 'server, then database', 'database, then server'] as const

/** A server on a data folder of its own, which a test may restart any number of times. */
async function openService() {
  const { home, remove } = newHome()
  const settings = {
    SVC_DATA_DIR: home,
    // What is said of the database is of this level.
    SVC_LOG_LEVEL: 'info',
    SVC_RATE_LIMIT_EVENTS_PER_S: '1000000',
    SVC_RATE_LIMIT_BURST: '1000000',
  }
  let server: ServerProcess | undefined
  cleanUps.push(async () => {
    server?.kill('SIGKILL')
    await server?.ended
    await remove()
  })
  const start = async (): Promise<ServerProcess> => {
    server = await startServer(settings)
    return server
  }
  const first = await start()
  return { home, start, first, token: await firstToken(first.address) }
}

async function kill(server: ServerProcess, home: string, victim: (typeof VICTIMS)[number], pauseMs: number) {
  if (victim === 'server') server.kill('SIGKILL')
  else if (victim === 'server, then database') {
    server.kill('SIGKILL')
    await sleep(pauseMs)
    killPostmaster(home)
  } else {
    killPostmaster(home)
    if (victim === 'database, then server') {
      await sleep(pauseMs)
      server.kill('SIGKILL')
    }
  }
}

test(
  'kill -9 at any moment loses no acknowledged event, and after sending the rest again every total is right',
  async () => {
    const seed = tellSeed('kill')
    const draw = randomFrom(seed)
    const { home, start, first, token } = await openService()
    let server = first
    let acknowledged = 0
    let unknown = 0
    const ROUNDS = killRounds(24)
    for (let round = 0; round < ROUNDS; round++) {
      const name = `round ${round} `
      const ledger = newLedger()
      const load = startLoad(ledger, { address: server.address, token, round: name, draw, clients: 4 })
      await sleep(30 + draw() * 700)
      load.expectFailures()
      const victim = VICTIMS[Math.floor(draw() * VICTIMS.length)] as (typeof VICTIMS)[number]
      await kill(server, home, victim, draw() * 50)
      if (victim === 'database') {
        // The server keeps running without it, and stops in time on request.
        await sleep(draw() * 200)
        const http = createClient(server.address)
        expect((await http.call('GET', '/livez')).status, server.said()).toBe(200)
        // The service starts the database again, which may take less time than the pause above.
        const isBack = () => /PostgreSQL runs again/.test(server.said())
        await until(async () => isBack() || (await http.call('GET', '/readyz')).status === 503).catch(
          (cause) => {
            throw new Error(`no outage of the database was noticed: ${server.said().slice(-4_000)}`, {
              cause,
            })
          },
        )
        http.close()
        const asked = performance.now()
        server.kill('SIGTERM')
        const { code, atMs } = await server.ended
        expect(code, server.said()).toBe(0)
        expect(atMs - asked).toBeLessThan(10_000)
      }
      await load.stop()
      await server.ended
      acknowledged += ledger.acknowledged.size
      unknown += ledger.events.size - ledger.acknowledged.size

      server = await start()
      const sql = openDatabase(home)
      try {
        const where = `seed ${seed}, round ${round}, killed: ${victim}`
        expect(await findLost(sql, ledger), where).toEqual([])
        await sendRest(ledger, { address: server.address, token })
        expect(ledger.wrong, where).toEqual([])
        expect(await storedSums(sql, name), where).toEqual(expectedSums(ledger))
      } finally {
        await sql.end({ timeout: 5 })
      }
      if ((round + 1) % 100 === 0) console.info(`kill: ${round + 1} of ${ROUNDS} rounds, none lost so far`)
    }
    console.info(
      `kill: ${ROUNDS} rounds, ${acknowledged} events acknowledged before a kill, ${unknown} sent again`,
    )
    expect(acknowledged).toBeGreaterThan(ROUNDS)
  },
  patienceMs(300),
)

test(
  'control: without synchronous commits the same kills lose acknowledged events',
  async () => {
    const draw = randomFrom(tellSeed('kill, negative control'))
    const { home, start, first, token } = await openService()
    let server = first
    const sql = openDatabase(home)
    // In the database itself, because the server sees to its own connections.
    await sql.unsafe(`
      create function be_careless() returns trigger language plpgsql as
        $$ begin perform set_config('synchronous_commit', 'off', true); return null; end $$;
      create trigger be_careless after insert on events for each statement execute function be_careless()`)
    await sql.unsafe(`alter system set wal_writer_delay = '10s'`)
    await sql.unsafe(`select pg_reload_conf()`)
    await sql.end({ timeout: 5 })
    let lost = 0
    for (let round = 0; round < 8 && lost === 0; round++) {
      const ledger = newLedger()
      const load = startLoad(ledger, {
        address: server.address,
        token,
        round: `control ${round} `,
        draw,
        clients: 4,
      })
      await sleep(100 + draw() * 400)
      load.expectFailures()
      await kill(server, home, 'database, then server', draw() * 50)
      await load.stop()
      await server.ended
      server = await start()
      const after = openDatabase(home)
      lost += (await findLost(after, ledger)).length
      await after.end({ timeout: 5 })
    }
    console.info(`kill, negative control: ${lost} acknowledged events lost`)
    expect(lost).toBeGreaterThan(0)
  },
  patienceMs(120),
)
