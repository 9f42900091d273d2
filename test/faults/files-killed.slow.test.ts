import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import S3rver from 's3rver'
import { afterEach, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { readConfig } from '../../src/config.ts'
import { compareStore } from '../../src/domain/files/index.ts'
import { randomFrom } from '../../src/domain/random.ts'
import { openStore } from '../../src/storage/index.ts'
import { declaration, sha256 } from '../files/sending-files.ts'
import { makeEvent } from '../ingest/sending.ts'
import { KEEPING, PASSWORD } from '../kit/app.ts'
import { COMMAND } from '../kit/command.ts'
import { killRounds, patienceMs, tellSeed } from '../kit/effort.ts'
import { createClient } from '../kit/http.ts'
import {
  firstToken,
  killPostmaster,
  newHome,
  openDatabase,
  type ServerProcess,
  startServer,
} from './server-process.ts'

// Contract §11 "Bytes": a server, a sweep and PostgreSQL that are killed at any moment of upload, attach, delete and collect lose no
// file that was acknowledged, and once the sweep has run the store has what the database names, and nothing else.

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

type Http = ReturnType<typeof createClient>
const TUS = { 'tus-resumable': '1.0.0' }
const CLIENTS = 4

/** What became of every path. */
interface Ledger {
  stored: Map<string, Buffer>
  deleted: Set<string>
  /** Declared or sent, without an answer that says that the file is there. */
  unsent: Map<string, Buffer>
  /** Not sent to their end after the server was back: there only if the server had all of it before. */
  left: Map<string, Buffer>
  /** To be deleted, without an answer. */
  deleting: Map<string, Buffer>
  wrong: unknown[]
  paths: number
}

/** Declares a file, and sends what is missing, in up to three pieces. @returns whether it is acknowledged */
async function send(
  http: Http,
  token: string,
  path: string,
  bytes: Buffer,
  pieces: number,
): Promise<boolean> {
  const body = { files: [declaration(path, bytes)] }
  const declared = await http.call('POST', '/api/batches/runs/files', { token, body })
  if (declared.status !== 200) return false
  const { state, upload_url: url } = declared.body.items[0]
  if (state === 'stored') return true
  const head = await http.call('HEAD', url, { token, headers: TUS })
  if (head.status !== 200) return false
  let offset = Number(head.headers['upload-offset'])
  for (let status = 204; offset < bytes.length; ) {
    const end = Math.min(bytes.length, offset + Math.ceil(bytes.length / pieces))
    const type = 'application/offset+octet-stream'
    const headers = { ...TUS, 'content-type': type, 'upload-offset': String(offset) }
    status = (await http.call('PATCH', url, { token, body: bytes.subarray(offset, end), headers })).status
    if (status !== 204) return false
    offset = end
  }
  return true
}

/** Uploads new content, attaches content that is there, and deletes, until the server is gone. */
async function work(
  address: string,
  { token, session }: { token: string; session: string },
  ledger: Ledger,
  draw: () => number,
): Promise<void> {
  const http = createClient(address)
  try {
    for (;;) {
      const known = [...ledger.stored.keys()]
      const chosen = known[Math.floor(draw() * known.length)]
      const kind = draw()
      if (kind < 0.3 && chosen !== undefined) {
        const bytes = ledger.stored.get(chosen) as Buffer
        ledger.stored.delete(chosen)
        ledger.deleting.set(chosen, bytes)
        const { status } = await http.call('DELETE', `/api/batches/runs/files/${chosen}`, { token: session })
        if (status >= 500) {
          await sleep(20)
          continue
        }
        if (status !== 204) ledger.wrong.push(['delete', chosen, status])
        ledger.deleting.delete(chosen)
        ledger.deleted.add(chosen)
        continue
      }
      const again = kind < 0.55 && chosen !== undefined ? ledger.stored.get(chosen) : undefined
      const bytes = again ?? randomBytes(1 + Math.floor(draw() ** 3 * 600_000))
      const path = `f/${ledger.paths++}`
      ledger.unsent.set(path, bytes)
      if (await send(http, token, path, bytes, 1 + Math.floor(draw() * 3))) {
        ledger.unsent.delete(path)
        ledger.stored.set(path, bytes)
      } else await sleep(20)
    }
  } catch {
    // The server was killed.
  } finally {
    http.close()
  }
}

/** `svc sweep`, in a process of its own; it ends by itself, or is killed. */
function sweep(settings: Record<string, string>) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(SVC_|DATABASE_URL|VITEST)/.test(name))
  const child = spawn(process.execPath, [...COMMAND, 'sweep'], {
    env: { ...Object.fromEntries(inherited), ...KEEPING, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, ended, said: () => said }
}

/** Lets content without a reference, and uploads that nothing continues, be two days old. */
async function age(home: string, { uploads }: { uploads: boolean }): Promise<void> {
  const sql = openDatabase(home)
  try {
    await sql`update contents set unreferenced_since = unreferenced_since - interval '2 days' where unreferenced_since is not null`
    if (uploads) await sql`update uploads set updated_at = updated_at - interval '2 days', busy_until = null`
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** A bucket of a local S3 API behind a proxy that can break all its connections. */
async function openBucket(): Promise<{ settings: Record<string, string>; cut(): void }> {
  const folder = memoryFolder('svc-faults-s3-').path
  const s3 = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'runs', configs: [] }],
  })
  const { port } = (await s3.run()) as AddressInfo
  const open = new Set<Socket>()
  const proxy = createServer((client) => {
    const away = connect(port, '127.0.0.1')
    for (const socket of [client, away]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        away.destroy()
      })
    }
    client.pipe(away).pipe(client)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const cut = (): void => {
    for (const socket of open) socket.destroy()
  }
  cleanUps.push(async () => {
    proxy.close()
    cut()
    await s3.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const settings = {
    SVC_FILES: 's3://runs/files',
    SVC_ARCHIVE_S3_ENDPOINT: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    SVC_ARCHIVE_S3_ACCESS_KEY_ID: 'S3RVER',
    SVC_ARCHIVE_S3_SECRET_ACCESS_KEY: 'S3RVER',
  }
  return { settings, cut }
}

test.each([
  ['a folder', 8],
  ['a bucket', 4],
] as const)(
  'kill -9 of server, sweep or PostgreSQL at any moment loses no file of %s, and a sweep leaves nothing over',
  async (kind, rounds) => {
    const draw = randomFrom(tellSeed('files, killed'))
    const bucket = kind === 'a bucket' ? await openBucket() : undefined
    const { home, remove } = newHome()
    const settings = { SVC_DATA_DIR: home, SVC_FILES_KEEP_FREE_BYTES: '0', ...bucket?.settings }
    let server: ServerProcess | undefined
    cleanUps.push(async () => {
      server?.kill('SIGKILL')
      await server?.ended
      await remove()
    })
    server = await startServer(settings)
    const token = await firstToken(server.address)
    let http = createClient(server.address)
    const account = { email: 'person@example.org', password: PASSWORD }
    const session: string = (await http.call('POST', '/api/auth/login', { body: account })).body.token
    const begun = makeEvent('batch_start', { batch_id: 'runs' })
    expect((await http.call('POST', '/api/events', { token, body: begun })).status).toBe(200)
    http.close()
    const ledger: Ledger = {
      stored: new Map(),
      deleted: new Set(),
      unsent: new Map(),
      left: new Map(),
      deleting: new Map(),
      wrong: [],
      paths: 0,
    }
    const statusAndHash = async (path: string): Promise<string> => {
      const answer = await fetch(`${server?.address}/api/batches/runs/files/${path}`, {
        headers: { authorization: `Bearer ${session}` },
      })
      const bytes = Buffer.from(await answer.arrayBuffer())
      return answer.status === 200 ? sha256(bytes) : String(answer.status)
    }
    const ROUNDS = killRounds(rounds)
    let [cut, unanswered] = [0, 0]
    for (let round = 0; round < ROUNDS; round++) {
      const where = `round ${round}`
      const { address } = server
      const loads = Array.from({ length: CLIENTS }, () => work(address, { token, session }, ledger, draw))
      await age(home, { uploads: false })
      const sweeping = sweep(settings)
      // Half of the time both are killed within the sweep, which takes longer to start than to work.
      if (draw() < 0.5) await Promise.race([sweeping.ended, sleep(3_000 * draw())])
      else await sleep(30 + draw() * 700)
      bucket?.cut()
      const victim = draw()
      // PostgreSQL before the server, after it, or not at all.
      if (victim < 0.3) {
        killPostmaster(home)
        await sleep(draw() * 100)
      }
      server.kill('SIGKILL')
      await sleep(draw() * 50)
      if (victim > 0.7) killPostmaster(home)
      sweeping.child.kill('SIGKILL')
      await Promise.all([...loads, server.ended, sweeping.ended])
      expect(ledger.wrong, where).toEqual([])
      cut += ledger.unsent.size
      unanswered += ledger.deleting.size

      server = await startServer(settings)
      for (const [path, bytes] of ledger.stored) expect(await statusAndHash(path), where).toBe(sha256(bytes))
      for (const path of ledger.deleted) expect(await statusAndHash(path), where).toBe('404')
      for (const [path, bytes] of ledger.deleting) {
        const found = await statusAndHash(path)
        if (found === '404') ledger.deleted.add(path)
        else {
          expect(found, where).toBe(sha256(bytes))
          ledger.stored.set(path, bytes)
        }
      }
      ledger.deleting.clear()
      http = createClient(server.address)
      // Every other upload is sent to its end; the rest is left for the sweep.
      for (const [path, bytes] of ledger.unsent) {
        if (draw() < 0.5) {
          ledger.left.set(path, bytes)
          continue
        }
        // What the dead server had begun to receive is free again after a while.
        for (let i = 0; !(await send(http, token, path, bytes, 1)); i++) {
          expect(i, `${where}: ${path}`).toBeLessThan(600)
          await sleep(100)
        }
        ledger.stored.set(path, bytes)
      }
      ledger.unsent.clear()
      http.close()
    }
    console.info(
      `files, killed: ${ROUNDS} rounds, ${ledger.paths} files, ${ledger.deleted.size} deleted; ${cut} uploads cut, ${unanswered} deletions without an answer`,
    )
    for (const [path, bytes] of ledger.left) {
      const found = await statusAndHash(path)
      if (found === sha256(bytes)) ledger.stored.set(path, bytes)
      else expect(found, path).toBe('404')
    }
    expect(ledger.stored.size).toBeGreaterThan(0)
    expect(ledger.deleted.size).toBeGreaterThan(0)

    const collected = async () => {
      for (let i = 0; i < 2; i++) {
        const { ended, said } = sweep(settings)
        expect(await ended, said()).toBe(0)
        await age(home, { uploads: true })
      }
      const { ended, said } = sweep(settings)
      expect(await ended, said()).toBe(0)
      const store = await openStore(readConfig(settings).config.files)
      const sql = openDatabase(home)
      try {
        return await compareStore(sql, store)
      } finally {
        await sql.end({ timeout: 5 })
      }
    }
    const contents = new Set([...ledger.stored.values()].map(sha256))
    expect(await collected()).toEqual({ objects: contents.size, missing: [], unknown: 0 })
    for (const [path, bytes] of ledger.stored) expect(await statusAndHash(path)).toBe(sha256(bytes))
    http = createClient(server.address)
    for (const path of ledger.stored.keys()) {
      const { status } = await http.call('DELETE', `/api/batches/runs/files/${path}`, { token: session })
      expect(status).toBe(204)
    }
    http.close()
    expect(await collected()).toEqual({ objects: 0, missing: [], unknown: 0 })
  },
  patienceMs(600),
)
