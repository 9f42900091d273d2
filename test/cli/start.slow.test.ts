import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { COMMAND } from '../kit/command.ts'
import { freshDatabase } from '../kit/database.ts'
import { freePort } from '../kit/free-port.ts'
import { type Cli, isAlive, postmasterOf, runCli } from './process.ts'

// Each test starts real processes, on a machine that may be busy with others.
vi.setConfig({ testTimeout: 240_000 })

let home: string
const running: Cli[] = []

beforeEach(() => {
  home = memoryFolder('svc-cli-').path
})
afterEach(async () => {
  for (const cli of running.splice(0)) {
    if (cli.process.exitCode === null) cli.kill('SIGKILL')
    await cli.ended
  }
  const orphan = postmasterOf(home)
  if (orphan !== undefined && isAlive(orphan)) process.kill(orphan, 'SIGQUIT')
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

function start(settings: Record<string, string> = {}, args = ['start']): Cli {
  const cli = runCli(args, { SVC_DATA_DIR: home, SVC_PORT: '0', ...settings })
  running.push(cli)
  return cli
}

const register = (address: string) =>
  fetch(`${address}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'you@example.com', password: 'at least 8 characters' }),
  })

async function until(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await done()); await sleep(20)) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`)
  }
}

test('a first start prints its address, its data folder and how to register', async () => {
  const cli = start()
  const address = await cli.address()
  expect((await fetch(`${address}/readyz`)).status).toBe(200)
  await until('the whole block', () => cli.said.out.includes('Stop with Ctrl-C.'))
  expect(cli.said.out).toContain(`Data      ${home}`)
  expect(cli.said.out).toContain(`curl ${address}/api/auth/register`)
  expect((await register(address)).status).toBe(201)
})

test('SIGTERM finishes the current request, stops PostgreSQL and exits with 0', async () => {
  const cli = start()
  const address = await cli.address()
  const sent = request(`${address}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', expect: '100-continue' },
  })
  const answer = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.flushHeaders()
  // With this the server confirms that it has the request.
  await once(sent, 'continue')
  sent.write('{"email":"late@example.com",')
  cli.kill('SIGTERM')
  await until('the drain', () => cli.said.out.includes('SIGTERM, draining'))
  sent.end('"password":"at least 8 characters"}')
  const [{ statusCode }] = await answer
  expect(statusCode).toBe(201)
  expect(await cli.ended).toMatchObject({ code: 0, signal: null })
  expect(postmasterOf(home)).toBe(undefined)
})

test('Ctrl-C during a start stops the PostgreSQL that it has started', async () => {
  const cli = start()
  await until('PostgreSQL', () => postmasterOf(home) !== undefined)
  cli.kill('SIGINT')
  expect(await cli.ended).toMatchObject({ code: 0 })
  expect(cli.said.out).not.toContain('Experiment monitor is running')
  expect(postmasterOf(home)).toBe(undefined)
})

test('after kill -9 the next start has the same data', async () => {
  const first = start()
  expect((await register(await first.address())).status).toBe(201)
  first.kill('SIGKILL')
  await first.ended
  const second = start()
  const again = await register(await second.address())
  expect(again.status).toBe(409)
  await until('the whole block', () => second.said.out.includes('Stop with Ctrl-C.'))
  expect(second.said.out).toContain('Sign in with your account.')
})

test('a PostgreSQL that was killed is restarted with its data', async () => {
  const cli = start()
  const address = await cli.address()
  expect((await register(address)).status).toBe(201)
  for (let kill = 0; kill < 2; kill++) {
    const killed = postmasterOf(home) as number
    process.kill(killed, 'SIGKILL')
    await until('another PostgreSQL', () => ![killed, undefined].includes(postmasterOf(home)))
    await until('the same account', async () => (await register(address)).status === 409)
  }
  expect(cli.said.err + cli.said.out).toContain('PostgreSQL has ended by itself; starting it again')
  cli.kill('SIGTERM')
  expect(await cli.ended).toMatchObject({ code: 0 })
  expect(postmasterOf(home)).toBeUndefined()
})

test('an invalid setting ends the start with one line that has its name but not its value', async () => {
  for (const name of ['SVC_DATABASE_URL', 'DATABASE_URL']) {
    const result = await start({ [name]: 'mysql://root:hunter2@db/svc' }).ended
    expect(result).toMatchObject({
      code: 1,
      out: '',
      err: `svc: ${name} is not valid: must begin with postgresql://\n`,
    })
  }
})

test('an unknown SVC_ name causes a warning, and a name used by the clients does not', async () => {
  const cli = start({ SVC_PROT: '8080', SVC_TOKEN: 'em_live_x', SVC_DEMO_EMAIL: 'me@example.com' })
  await cli.address()
  expect(cli.said.err.match(/svc: .*/g)).toEqual([
    'svc: SVC_PROT is not a setting of this service and is ignored',
  ])
})

test('a port in use ends the start with one line, and a first start before it creates a database', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await until('the port', () => other.listening)
  const { port } = other.address() as AddressInfo
  const startThere = () => start({ SVC_PORT: String(port), SVC_LOG_LEVEL: 'silent' }).ended
  const inUse = `svc: 127.0.0.1 port ${port} is in use: another server runs there. Stop it, or choose another SVC_PORT\n`
  try {
    expect(await startThere()).toMatchObject({ code: 1, err: inUse })
    expect(readdirSync(home)).toEqual([])

    const first = start()
    await first.address()
    first.kill('SIGTERM')
    await first.ended
    expect(await startThere()).toMatchObject({ code: 1, err: inUse })
    expect(postmasterOf(home)).toBe(undefined)
  } finally {
    other.close()
  }
})

test('an unreachable database ends the start with one line that has its host and no password', async () => {
  const port = await freePort()
  const result = await start({
    SVC_DATABASE_URL: `postgresql://svc:hunter2@127.0.0.1:${port}/svc`,
    SVC_LOG_LEVEL: 'silent',
  }).ended
  expect(result.code).toBe(1)
  expect(result.err).toMatch(
    /^svc: the database at 127\.0\.0\.1:\d+ cannot be used: .*ECONNREFUSED.*\. See SVC_DATABASE_URL\n$/,
  )
})

test('a wrong password for the database ends the start with one line', async () => {
  const database = await freshDatabase()
  try {
    const url = new URL(database.url)
    url.password = 'hunter2'
    const result = await start({ SVC_DATABASE_URL: url.href, SVC_LOG_LEVEL: 'silent' }).ended
    expect(result.code).toBe(1)
    expect(result.err).toMatch(
      /^svc: the database at \S+ cannot be used: password authentication failed.*\n$/,
    )
    expect(result.err).not.toContain('hunter2')
  } finally {
    await database.drop()
  }
})

test('a database that a newer release has migrated ends the start with one line', async () => {
  const database = await freshDatabase()
  try {
    await database.sql`
      /* test.newer */ insert into _prisma_migrations (id, checksum, migration_name, finished_at)
      values ('n', 'n', '999_from_the_future', now())`
    const result = await start({ SVC_DATABASE_URL: database.url, SVC_LOG_LEVEL: 'silent' }).ended
    expect(result.code).toBe(1)
    expect(result.err).toMatch(
      /^svc: the database is newer than this release: it has 999_from_the_future\. .*\n$/,
    )
  } finally {
    await database.drop()
  }
})

test.each([
  [
    'size=24m',
    /there is no space left for the database under .*: an empty one takes 60 MB, and \d+ MB are free/,
  ],
  [
    'size=24m,ro',
    /cannot be created: .* is on a file system that is mounted read-only\. SVC_DATA_DIR can name/,
  ],
])('a data folder on a file system with %s ends the start with one line with the solution', async (options, line) => {
  // A mount namespace of its own: the small file system is seen by this start alone.
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps']
  const script = `mount -t tmpfs -o ${options} tmpfs "$0" && exec "$@"`
  const child = spawn(
    'unshare',
    [...own, '--mount', 'sh', '-c', script, home, process.execPath, ...COMMAND, 'start'],
    {
      env: {
        PATH: process.env.PATH,
        SVC_DATA_DIR: join(home, 'data'),
        SVC_PORT: '0',
        SVC_LOG_LEVEL: 'silent',
      },
    },
  )
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const [code] = await once(child, 'close')
  expect(said).toMatch(line)
  expect(said.trim().split('\n')).toHaveLength(1)
  expect(code).toBe(1)
})

test('an unknown command is refused with a suggestion', async () => {
  const result = await start({}, ['strat']).ended
  expect(result.code).toBe(1)
  expect(result.err).toMatch(/^svc: unknown command 'strat'\n\(Did you mean start\?\)\nSee svc --help\.\n/)
})

test('every command has a --help that needs no database', async () => {
  const { code, out } = await start({ SVC_PORT: 'not read' }, ['--help']).ended
  expect(code).toBe(0)
  const commands = [...out.matchAll(/^ {2}(\w+) .*$/gm)].map(([, name]) => name as string)
  for (const name of ['start', 'demo', 'user', 'token', 'backup', 'restore', 'sweep', 'doctor', 'version']) {
    expect(commands).toContain(name)
    const help = await start({ SVC_PORT: 'not read' }, [name, '--help']).ended
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toMatch(new RegExp(`^Usage: svc ${name} `))
  }
  const version = await start({}, ['version']).ended
  expect(version.out).toMatch(/^svc \d+\.\d+\.\d+ \(Node \d+/)
})
