import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { afterEach, describe, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { killOrphans, stopPostmaster } from '../../src/db/embedded/postmaster.ts'
import { findProcess } from '../../src/db/embedded/processes.ts'
import { type EmbeddedOptions, startEmbedded } from '../../src/db/embedded.ts'

// Every test in a folder of its own; processes and files that are left are removed, also after a failure.
const roots: string[] = []
const children: ChildProcess[] = []
const pools: postgres.Sql[] = []

function newHome(): string {
  const root = memoryFolder('svc-embedded-').path
  chmodSync(root, 0o755)
  roots.push(root)
  return join(root, 'home')
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end({ timeout: 0 })))
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const root of roots.splice(0)) {
    const clusters = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('data/PG_VERSION'))
      .map((name) => join(root, name, '..'))
    for (const data of clusters) {
      await stopPostmaster(data, 2_000)
      killOrphans(data)
    }
    rmSync(root, { recursive: true, force: true, maxRetries: 10 })
  }
})

function start(home: string, options: Partial<EmbeddedOptions> = {}) {
  return startEmbedded({ home, log: () => {}, settings: { shared_buffers: '16MB' }, ...options })
}

function connect(url: string, max = 1) {
  const pool = postgres(url, { max, onnotice: () => {} })
  pools.push(pool)
  return pool
}

const isGone = (pid: number) => findProcess(pid) === null

async function until(condition: () => boolean) {
  while (!condition()) await sleep(20)
}

/** Another process that starts the database of this home, says so, and stays. */
async function startElsewhere(home: string) {
  const module = new URL('../../src/db/embedded.ts', import.meta.url)
  const script = `
    const { startEmbedded } = await import(${JSON.stringify(module.href)})
    const database = await startEmbedded({ home: ${JSON.stringify(home)}, log() {}, settings: { shared_buffers: '16MB' } })
    console.log(database.pid)
    process.on('SIGTERM', async () => { await database.stop(); process.exit(0) })
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // a process group of its own, as a shell gives it
  })
  children.push(child)
  const [line] = await once(child.stdout!, 'data')
  return { child, pid: Number(String(line)) }
}

async function end(child: ChildProcess, signal: NodeJS.Signals) {
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

describe('a start', { timeout: 240_000 }, () => {
  test('on a fresh folder creates a durable UTF-8 database that only this machine can reach', async () => {
    const home = newHome()
    const database = await start(home)
    expect(database).toMatchObject({ adopted: false, home })
    const sql = connect(database.url('postgres'))
    const names = ['fsync', 'synchronous_commit', 'full_page_writes', 'server_encoding', 'listen_addresses']
    const settings = await sql`select name, setting from pg_settings where name in ${sql(names)}`
    expect(Object.fromEntries(settings.map((row) => [row.name, row.setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      server_encoding: 'UTF8',
      listen_addresses: '127.0.0.1',
    })
    const [locale] = await sql`select datlocprovider, datlocale from pg_database where datname = 'postgres'`
    expect(locale).toEqual({ datlocprovider: 'b', datlocale: 'C.UTF-8' })
    expect(statSync(join(home, 'data/svc.password')).mode & 0o777).toBe(0o600)
    await expect(connect(database.url('postgres').replace(/:[^:@]+@/, ':wrong@'))`select 1`).rejects.toThrow(
      /password authentication failed/,
    )
    await database.stop()
    expect(isGone(database.pid)).toBe(true)
  })

  test('after a stop uses the same data and port', async () => {
    const home = newHome()
    const first = await start(home)
    await connect(first.url('postgres'))`create table kept as select 42 as answer`
    await first.stop()
    const second = await start(home)
    expect(second.adopted).toBe(false)
    expect(second.url('postgres')).toBe(first.url('postgres'))
    expect(await connect(second.url('postgres'))`select answer from kept`).toEqual([{ answer: 42 }])
    await second.stop()
  })

  test('adopts the running database of a killed process, and can stop it', async () => {
    const home = newHome()
    const elsewhere = await startElsewhere(home)
    await end(elsewhere.child, 'SIGKILL')
    const database = await start(home)
    expect(database).toMatchObject({ adopted: true, pid: elsewhere.pid })
    await database.stop()
    expect(isGone(elsewhere.pid)).toBe(true)
  })

  test('moves an incomplete database folder aside and creates a new one', async () => {
    const home = newHome()
    mkdirSync(join(home, 'data', 'base'), { recursive: true })
    writeFileSync(join(home, 'data', 'PG_VERSION'), '18\n')
    const said: string[] = []
    const database = await start(home, { log: (message) => said.push(message) })
    expect(said.join('\n')).toMatch(/held no whole database; it is now .*data\.incomplete-/)
    expect(await connect(database.url('postgres'))`select 1 as one`).toEqual([{ one: 1 }])
    await database.stop()
  })

  test.each([
    'fsync',
    'full_page_writes',
    'synchronous_commit',
  ])('refuses a database with %s off and leaves no PostgreSQL running', async (name) => {
    const home = newHome()
    await expect(start(home, { settings: { [name]: 'off' } })).rejects.toThrow(
      new RegExp(`${name} not on and could lose acknowledged events`),
    )
    expect(existsSync(join(home, 'data/postmaster.pid'))).toBe(false)
  })

  test('that PostgreSQL refuses shows the reason', async () => {
    await expect(start(newHome(), { settings: { max_connections: '-1' } })).rejects.toThrow(
      /PostgreSQL did not start: .*max_connections/s,
    )
  })

  test.runIf(process.getuid?.() === 0 /* only root runs PostgreSQL as someone else */)(
    'as root in a folder closed to others stores the data elsewhere, prints where, and finds it again',
    async () => {
      const home = newHome()
      const root = join(home, '..')
      mkdirSync(join(root, 'closed'), { mode: 0o700 })
      const said: string[] = []
      const options = { fallbackRoot: join(root, 'fallback'), log: (message: string) => said.push(message) }
      const first = await start(join(root, 'closed', 'home'), options)
      expect(first.home).toMatch(/\/fallback\/[0-9a-f]{16}$/)
      expect(said.join('\n')).toContain(`the database is in ${first.home}`)
      await connect(first.url('postgres'))`create table kept ()`
      await first.stop()
      const second = await start(join(root, 'closed', 'home'), options)
      expect(second.home).toBe(first.home)
      expect(await connect(second.url('postgres'))`select from kept`).toHaveLength(0)
      await second.stop()
    },
  )
})

describe('two users of one folder', { timeout: 240_000 }, () => {
  test('that start at once on a new folder get the same server, and the last to stop stops it', async () => {
    const home = newHome()
    const all = await Promise.all([start(home), start(home), start(home)])
    expect(new Set(all.map((one) => one.pid)).size).toBe(1)
    expect(all.filter((one) => !one.adopted)).toHaveLength(1)
    expect(readdirSync(home).filter((name) => name.startsWith('data'))).toEqual(['data'])
    const [first, second, third] = all
    await Promise.all([first!.stop(), third!.stop()])
    expect(await connect(second!.url('postgres'))`select 1 as one`).toEqual([{ one: 1 }])
    await second!.stop()
    expect(isGone(second!.pid)).toBe(true)
  })

  test('in two processes: the first to stop does not stop the database of the other', async () => {
    const home = newHome()
    const elsewhere = await startElsewhere(home)
    const database = await start(home)
    expect(database.pid).toBe(elsewhere.pid)
    await end(elsewhere.child, 'SIGTERM')
    expect(await connect(database.url('postgres'))`select 1 as one`).toEqual([{ one: 1 }])
    await database.stop()
    expect(isGone(database.pid)).toBe(true)
  })

  test('Ctrl-C in the terminal does not reach the database', async () => {
    const elsewhere = await startElsewhere(newHome())
    const ended = once(elsewhere.child, 'exit')
    process.kill(-elsewhere.child.pid!, 'SIGINT') // what a terminal does: the whole process group
    await ended
    await sleep(200)
    expect(isGone(elsewhere.pid)).toBe(false)
  })
})

describe('after a crash', { timeout: 240_000 }, () => {
  test('kill -9 of the postmaster under load loses nothing that was acknowledged', async () => {
    const home = newHome()
    const first = await start(home)
    const sql = connect(first.url('postgres'), 5)
    await sql`create table written (n int)`
    // Busy, so it does not notice that its postmaster is gone, and holds the shared memory.
    const busy = connect(first.url('postgres'))`select count(*) from generate_series(1, 1e12::bigint)`.catch(
      () => {},
    )
    const acknowledged: number[] = []
    let next = 0
    const writers = Array.from({ length: 4 }, async () => {
      for (;;) {
        const n = next++
        await sql`insert into written values (${n})`
        acknowledged.push(n)
      }
    })
    await until(() => acknowledged.length > 200)
    process.kill(first.pid, 'SIGKILL')
    const again = start(home)
    await Promise.all([...writers.map((writer) => writer.catch(() => {})), busy])
    const second = await again
    expect(second).toMatchObject({ adopted: false })
    expect(second.pid).not.toBe(first.pid)
    const rows = await connect(second.url('postgres'))<{ n: number }[]>`select n from written`
    const stored = new Set(rows.map((row) => row.n))
    expect(acknowledged.filter((n) => !stored.has(n))).toEqual([])
    await second.stop() // although first was never stopped: its server is gone
    expect(isGone(second.pid)).toBe(true)
  })

  test('the handle of a crashed server does not stop its replacement', async () => {
    const home = newHome()
    const first = await start(home)
    process.kill(first.pid, 'SIGKILL')
    await until(() => isGone(first.pid))
    const second = await start(home)
    await first.stop()
    expect(isGone(second.pid)).toBe(false)
    await second.stop()
    expect(isGone(second.pid)).toBe(true)
  })

  test('a server that runs but does not answer is replaced', async () => {
    const home = newHome()
    const first = await start(home)
    process.kill(first.pid, 'SIGSTOP')
    const second = await start(home, { silenceMs: 500 })
    expect(second.pid).not.toBe(first.pid)
    expect(await connect(second.url('postgres'))`select 1 as one`).toEqual([{ one: 1 }])
    await Promise.all([first.stop(), second.stop()])
  })

  test.each([
    ['is asked until the one that starts has ended', 'starting'],
    ['is refused', 'ready'],
  ])('another server on the port %s', async (_, status) => {
    const [home, other] = [newHome(), newHome()]
    const [first, stranger] = await Promise.all([start(home), start(other)])
    const [file, othersFile] = [home, other].map((one) => join(one, 'data/postmaster.pid')) as [
      string,
      string,
    ]
    const lines = readFileSync(file, 'utf8').split('\n')
    lines[3] = readFileSync(othersFile, 'utf8').split('\n')[3]!
    lines[7] = status
    writeFileSync(file, lines.join('\n'))
    const starting = start(home)
    if (status === 'ready') {
      await expect(starting).rejects.toThrow(/refuses the password/)
      process.kill(first.pid, 'SIGINT')
    } else {
      const log = join(other, 'data/log')
      const refused = (name: string) =>
        readFileSync(join(log, name), 'utf8').includes('authentication failed')
      await until(() => readdirSync(log).some(refused))
      process.kill(first.pid, 'SIGINT')
      const second = await starting
      expect(second.pid).not.toBe(first.pid)
      await second.stop()
    }
    await until(() => isGone(first.pid))
    await stranger.stop()
  })

  test.each([
    'a living process of the same account',
    'a process that no one reaps',
    'no process',
    'nothing at all',
  ])('a stale postmaster.pid that names %s is no obstacle', async (kind) => {
    const home = newHome()
    const pidFile = join(home, 'data/postmaster.pid')
    const first = await start(home)
    const lines = readFileSync(pidFile, 'utf8').split('\n')
    await first.stop()

    const owner = statSync(join(home, 'data'))
    const script = kind.includes('reaps') ? 'true & echo $!; exec sleep 60' : 'echo $$; exec sleep 60'
    const stranger = spawn('/bin/sh', ['-c', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {}),
    })
    children.push(stranger)
    const pid = Number(String((await once(stranger.stdout!, 'data'))[0]))
    if (kind.includes('reaps')) await until(() => isGone(pid))
    if (kind === 'no process') {
      await end(stranger, 'SIGKILL')
      await until(() => isGone(pid))
    }
    writeFileSync(pidFile, kind === 'nothing at all' ? '' : [pid, ...lines.slice(1)].join('\n'))

    const second = await start(home)
    expect(second.adopted).toBe(false)
    expect(second.pid).not.toBe(pid)
    if (kind.startsWith('a living')) expect(isGone(pid)).toBe(false)
    await second.stop()
  })
})
