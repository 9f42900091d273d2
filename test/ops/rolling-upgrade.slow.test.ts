import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { randomFrom } from '../../src/domain/random.ts'
import { expectedSums, findLost, newLedger, sendRest, startLoad, storedSums } from '../faults/ledger.ts'
import { firstToken, type ServerProcess, startServer } from '../faults/server-process.ts'
import { PASSWORD } from '../kit/app.ts'
import { COMMAND } from '../kit/command.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { built } from '../kit/effort.ts'
import { createClient } from '../kit/http.ts'
import { openStream } from '../live/stream.ts'

// The next release is this one with one more migration, of the kind that allows servers without it. So this needs no
// earlier build. What was tried with a real earlier release is in docs/operations.md.

const ROOT = join(import.meta.dirname, '../..')
const CODE = built ? 'dist' : 'src'
const NEXT_MIGRATION = `-- Servers of earlier releases may run on it.
alter table jobs add column if not exists of_next_release text not null default '';
alter table batches add column if not exists of_next_release jsonb;
create table if not exists things_of_next_release (batch_key bigint primary key, thing text not null);
create index if not exists jobs_of_next_release on jobs (of_next_release);
`

let scratch: string
let database: TestDatabase
const running = new Set<ServerProcess>()
let next: string[]
beforeAll(async () => {
  scratch = memoryFolder('svc-rolling-').path
  database = await freshDatabase()
  for (const name of readdirSync(ROOT))
    if (![CODE, 'prisma', '.git'].includes(name)) symlinkSync(join(ROOT, name), join(scratch, name))
  for (const name of [CODE, 'prisma']) cpSync(join(ROOT, name), join(scratch, name), { recursive: true })
  mkdirSync(join(scratch, 'prisma/migrations/999_next_release'))
  writeFileSync(join(scratch, 'prisma/migrations/999_next_release/migration.sql'), NEXT_MIGRATION)
  next = COMMAND.map((word) => (word.startsWith(ROOT) ? join(scratch, relative(ROOT, word)) : word))
})
afterAll(async () => {
  for (const server of running) server.kill('SIGKILL')
  await Promise.all([...running].map(({ ended }) => ended))
  await database?.drop()
  rmSync(scratch, { recursive: true, force: true })
})

async function start(command: readonly string[]): Promise<ServerProcess> {
  const settings = {
    SVC_DATABASE_URL: database.url,
    SVC_RATE_LIMIT_EVENTS_PER_S: '1000000',
    SVC_RATE_LIMIT_BURST: '1000000',
    SVC_LOG_LEVEL: 'info',
  }
  const server = await startServer(settings, [...command])
  running.add(server)
  void server.ended.then(() => running.delete(server))
  return server
}

/** One address in front of the server that `to` names; existing connections end only with their server. */
function startRelay() {
  const relay = { to: '', address: '', close: () => {} }
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(relay.to).port), '127.0.0.1')
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one
        .on('error', () => other.destroy())
        .on('close', () => other.destroy())
        .pipe(other)
  })
  relay.close = () => void server.close()
  return new Promise<typeof relay>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const at = server.address()
      relay.address = `http://127.0.0.1:${typeof at === 'object' ? at?.port : at}`
      resolve(relay)
    })
  })
}

const TRAINING = `
import os, time
import svc_reporter as svc
run = svc.init(project="roll", name="trains through both")
step = 0
while not os.path.exists("end"):
    run.log({"loss": 1 / (1 + step)}, step=step)
    step += 1
    time.sleep(0.01)
run.finish()
print("steps", step)
`

/** A training with the Python reporter. @returns a function that ends it and returns its output */
function startTraining(address: string, token: string): () => Promise<string> {
  const home = join(scratch, 'training')
  mkdirSync(home)
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    PYTHONPATH: join(ROOT, 'python/reporter/src'),
    SVC_URL: address,
    SVC_TOKEN: token,
  }
  const child = spawn('python3', ['-c', TRAINING], { cwd: home, env })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk
    })
  const ended = new Promise<string>((resolve) =>
    child.once('close', (code) => resolve(`${said}exit ${code}`)),
  )
  return () => {
    writeFileSync(join(home, 'end'), '')
    return ended
  }
}

test('an upgrade to the next release under load, and back, loses nothing', {
  timeout: 240_000,
}, async () => {
  const draw = randomFrom(24)
  const ledger = newLedger()
  const older = await start(COMMAND)
  const token = await firstToken(older.address)
  const client = createClient(older.address)
  const { body: me } = await client.call('POST', '/api/auth/login', {
    body: { email: 'person@example.org', password: PASSWORD },
  })
  client.close()
  const relay = await startRelay()
  relay.to = older.address
  const endTraining = startTraining(relay.address, token)
  const loads = [startLoad(ledger, { address: older.address, token, round: 'older', draw, clients: 2 })]
  /** Each reads what the other stored, and a stream of each has the changes of both. */
  const together = async (servers: ServerProcess[], rounds: string[]) => {
    for (const { address } of servers) {
      const http = createClient(address)
      expect((await http.call('GET', '/', { headers: { accept: 'text/html' } })).status).toBe(200)
      expect((await http.call('GET', '/readyz')).status).toBe(200)
      for (const round of rounds) {
        const id = encodeURIComponent(`${round} shared`)
        const ask = (path: string) => http.call('GET', path, { token: me.token })
        await expect.poll(async () => (await ask(`/api/batches/${id}`)).status).toBe(200)
        const series = async () =>
          JSON.stringify((await ask(`/api/batches/${id}/metrics?keys=client%200`)).body)
        await expect.poll(series).toContain('"client 0"')
        const query = { query: `{ batch(id: ${JSON.stringify(`${round} shared`)}) { id status } }` }
        const graph = await http.call('POST', '/graphql', { token: me.token, body: query })
        expect(graph.body.data.batch.id).toBe(`${round} shared`)
      }
      const channels = rounds.map((round) => `metrics:${round} shared`)
      const stream = await openStream(address, channels, { token: me.token })
      for (const round of rounds)
        await stream.find(({ data }) => JSON.stringify(data).includes(`${round} shared`))
      stream.cut()
      http.close()
    }
  }
  const retire = async (server: ServerProcess, successor: ServerProcess) => {
    relay.to = successor.address
    for (const load of loads) load.expectFailures()
    server.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  }

  const newer = await start(next)
  const [column] = await database.sql`select of_next_release from batches limit 1`
  expect(column).toBeDefined()
  loads.push(startLoad(ledger, { address: newer.address, token, round: 'newer', draw, clients: 2 }))
  await together([older, newer], ['older', 'newer'])
  expect(ledger.wrong).toEqual([])
  await retire(older, newer)
  await loads[0]?.stop()
  await sendRest(ledger, { address: newer.address, token })

  // The way back.
  const back = await start(COMMAND)
  await expect.poll(() => back.said()).toContain('of a newer release (999_next_release)')
  loads.push(startLoad(ledger, { address: back.address, token, round: 'back', draw, clients: 2 }))
  await together([newer, back], ['newer', 'back'])
  expect(ledger.wrong).toEqual([])
  await retire(newer, back)
  for (const load of loads) await load.stop()
  await sendRest(ledger, { address: back.address, token })

  expect(ledger.wrong).toEqual([])
  expect(await findLost(database.sql, ledger)).toEqual([])
  for (const round of ['older', 'newer', 'back']) {
    const expected = Object.entries(expectedSums(ledger)).filter(([id]) => id.startsWith(`${round} `))
    expect(await storedSums(database.sql, `${round} `)).toEqual(Object.fromEntries(expected))
  }
  expect(await endTraining()).toMatch(/^steps \d+$[\s\S]*^exit 0$/m)
  const http = createClient(back.address)
  const { body: found } = await http.call('GET', '/api/batches?project=roll', { token: me.token })
  expect(found.items).toMatchObject([{ name: 'trains through both', status: 'completed' }])
  const receipt = await http.call('GET', `/api/batches/${found.items[0].id}/delivery`, { token: me.token })
  expect(receipt.body).toMatchObject({ state: 'complete', missing: 0, missing_epochs: 0 })
  http.close()
  relay.close()
})
