import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { residentMiB, type ServerProcess, startServer } from '../faults/server-process.ts'
import { type Door, makeEvent, openDoor, UNLIMITED } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { channelsQuery, openStream } from './stream.ts'

/** Clients that do not read: they cost little, are cut off in the end, and miss nothing when they come back. */
let door: Door
beforeAll(async () => {
  door = await openDoor({ maxBodyBytes: 64 * 1024 * 1024 })
})
afterAll(() => door?.stop())

let n = 0
async function beginBatch(): Promise<string> {
  const id = `batch-${++n}`
  await door.send(makeEvent('batch_start', { batch_id: id }))
  return id
}
const LINE = 'x'.repeat(2_000)
let lines = 0
/** Lines of 2 kB, `count` of them in one message. */
async function write(id: string, count: number): Promise<void> {
  const events = Array.from({ length: count }, () =>
    makeEvent('log_line', { batch_id: id, data: { line: `${++lines} ${LINE}`, level: 'info' } }),
  )
  const { status } = await door.sendAll(events)
  expect(status).toBe(200)
}

/** A client that sends a request, reads the beginning of the answer, and then pauses until the test resumes it. */
async function openStalled(address: string, channel: string): Promise<Socket> {
  const { hostname, port, host } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    `GET /api/sse?${channelsQuery(channel)} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${door.session}\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(head.toString()).toMatch(/^HTTP\/1\.1 200/)
  socket.pause()
  return socket
}

test('five hundred clients that do not read cost a server at most 50 MB', { timeout: 240_000 }, async () => {
  const server: ServerProcess = await startServer({
    SVC_DATABASE_URL: door.app.config.databaseUrl as string,
    SVC_MAX_STREAMS_PER_ADDRESS: '1000',
    SVC_MAX_REQUESTS_PER_ADDRESS: '2000',
    // A small heap, so that the measurement has held memory and little garbage; the server itself needs about 100 MB of it.
    NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=2',
  })
  try {
    const batches = await Promise.all(Array.from({ length: 5 }, beginBatch))
    // The same load with one reader of each first, so that its own memory is part of the baseline.
    const rounds = 38
    const readers = await Promise.all(
      batches.map((id) => openStream(server.address, [`logs:${id}`], { token: door.session })),
    )
    for (let round = 0; round < rounds; round++) for (const id of batches) await write(id, 40)
    await Promise.all(readers.map((reader) => reader.reach(rounds, 90_000)))
    const before = residentMiB(server.pid) as number

    const stalled: Socket[] = []
    for (let i = 0; i < 500; i++) {
      stalled.push(await openStalled(server.address, `logs:${batches[i % batches.length]}`))
    }
    let most = 0
    for (let round = 0; round < rounds; round++) {
      for (const id of batches) await write(id, 40)
      most = Math.max(most, residentMiB(server.pid) as number)
    }
    // Meanwhile the readers get all messages.
    await Promise.all(readers.map((reader) => reader.reach(2 * rounds, 90_000)))
    await sleep(500)
    most = Math.max(most, residentMiB(server.pid) as number)
    console.info(`500 stalled clients: ${before.toFixed(0)} MiB before, ${most.toFixed(0)} MiB at most`)
    expect(most - before).toBeLessThan(50)
    for (const socket of stalled) socket.destroy()
    for (const reader of readers) reader.cut()
  } finally {
    server.kill('SIGTERM')
    await server.ended
  }
})

async function withApp(times: { stallMs: number }, work: (app: TestApp) => Promise<void>): Promise<void> {
  const databaseUrl = door.app.config.databaseUrl as string
  const app = await startTestApp({ ...UNLIMITED, databaseUrl }, { streamTimes: times })
  await work(app).finally(() => app.stop())
}

/** More than any socket buffers: the kernel's buffers of a loopback hold some megabytes. */
const FLOOD = 500

test('a client that reads nothing is disconnected after a while; one that reads is not', async () => {
  await withApp({ stallMs: 2_000 }, async (app) => {
    const id = await beginBatch()
    const reader = await openStream(app.address, [`logs:${id}`], { token: door.session })
    const stalled = await openStalled(app.address, `logs:${id}`)
    const closed = once(stalled, 'close')
    for (let i = 0; i < FLOOD / 10; i++) await write(id, 100)
    await reader.reach(FLOOD / 10, 60_000)
    // A paused socket does not notice its end until it is read, so this is seen at the server.
    const streams = async () => /^svc_sse_streams (\d+)$/m.exec((await app.call('GET', '/metrics')).body)?.[1]
    await expect.poll(streams).toBe('1')
    stalled.resume()
    await closed
    await write(id, 1)
    await reader.reach(FLOOD / 10 + 1)
    reader.cut()
  })
})

test('a slow client gets everything in the end, from the change log, in order', async () => {
  await withApp({ stallMs: 60_000 }, async (app) => {
    const id = await beginBatch()
    const slow = await openStalled(app.address, `logs:${id}`)
    const first = lines
    for (let i = 0; i < FLOOD; i++) await write(id, 10)
    let text = ''
    slow.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
    })
    slow.resume()
    await expect.poll(() => text.includes(`"line":"${lines} `), { timeout: 60_000 }).toBe(true)
    const told = [...text.matchAll(/"line":"(\d+) /g)].map(([, number]) => Number(number))
    expect(told).toEqual(Array.from({ length: FLOOD * 10 }, (_, i) => first + i + 1))
    slow.destroy()
  })
})
