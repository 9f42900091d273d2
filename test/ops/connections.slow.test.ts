import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { startServer } from '../faults/server-process.ts'
import { freshDatabase } from '../kit/database.ts'
import { patienceMs } from '../kit/effort.ts'

const cleanUps: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

/** The backlog that the system allows; 128 on systems other than Linux. */
const SYSTEM = '/proc/sys/net/core/somaxconn'
const most = existsSync(SYSTEM) ? Number(readFileSync(SYSTEM, 'utf8')) : 128

test('many clients that connect at once while the server is busy are answered afterwards', async () => {
  const database = await freshDatabase()
  cleanUps.push(() => database.drop())
  const server = await startServer({ SVC_DATABASE_URL: database.url })
  cleanUps.push(async () => {
    server.kill('SIGCONT')
    server.kill('SIGTERM')
    await server.ended
  })
  const { hostname, port } = new URL(server.address)
  server.kill('SIGSTOP')
  const lab = Array.from({ length: Math.min(1_000, most) }, () => connect(Number(port), hostname))
  cleanUps.push(() => {
    for (const socket of lab) socket.destroy()
  })
  // All connect while the server is suspended: none has to retry a second later or more.
  await within('connected', Promise.all(lab.map((socket) => told(socket, 'connect'))))
  for (const socket of lab) socket.write(`GET /livez HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`)
  const answers = Promise.all(lab.map((socket) => told(socket, 'data')))
  server.kill('SIGCONT')
  for (const [bytes] of await within('answered', answers)) expect(String(bytes)).toMatch(/^HTTP\/1\.1 200 /)
}, 120_000)

const told = (socket: Socket, event: 'connect' | 'data'): Promise<unknown[]> =>
  new Promise((resolve, reject) => {
    socket.once(event, (...said: unknown[]) => resolve(said))
    socket.once('error', reject)
  })

async function within<T>(what: string, all: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not all were ${what}`)), patienceMs(15))
  })
  return Promise.race([all, late]).finally(() => clearTimeout(timer))
}
