import { Agent, request } from 'node:http'
import { take, trainingEvents } from './events.ts'

/** Bodies of so many events each, without end: every event is a new one, of batches that go on for a while. */
export function createBodies(events: number): () => Buffer {
  const POOL = 200
  // Two words of eight letters are put in at each use: what makes the event new, and what makes the batch new.
  const pool = take(trainingEvents({ batches: 8, jobs: 8, tag: 'CCCCCCCC' }), POOL * events).map((event) =>
    event.replace(/"event_id":"[0-9a-f]{8}/, '"event_id":"EEEEEEEE'),
  )
  const texts = Array.from(
    { length: POOL },
    (_, i) => `[${pool.slice(i * events, (i + 1) * events).join(',')}]`,
  )
  const start = Math.floor(Math.random() * 2 ** 31)
  const hex = (n: number): string => (n >>> 0).toString(16).padStart(8, '0')
  let used = 0
  return () => {
    const text = texts[used % POOL] as string
    const cycle = hex(start + Math.floor(used / POOL))
    used++
    return Buffer.from(text.replaceAll('EEEEEEEE', hex(start + used)).replaceAll('CCCCCCCC', cycle))
  }
}

export interface Answered {
  status: number
  /** Milliseconds since the flood began: when it was to be sent, and when it was answered. */
  dueMs: number
  answeredMs: number
  retryAfter: boolean
}

/**
 * Sends bodies for some seconds: as fast as `connections` get their answers, or, with `perS`, at that rate whatever
 * comes back, as many senders do who know nothing of each other.
 */
export async function flood(
  { address, token }: { address: string; token: string },
  body: () => Buffer,
  options: { seconds: number; connections: number; perS?: number },
): Promise<Answered[]> {
  const { seconds, connections, perS } = options
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const url = new URL('/api/events/batch', address)
  const answers: Answered[] = []
  const begun = performance.now()
  const since = (): number => performance.now() - begun
  const send = (dueMs: number): Promise<void> =>
    new Promise((resolve) => {
      const bytes = body()
      const done = (status: number, retryAfter: boolean): void => {
        answers.push({ status, dueMs, answeredMs: since(), retryAfter })
        resolve()
      }
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': bytes.length,
      }
      const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
        answer.resume()
        answer.on('end', () => done(answer.statusCode ?? 0, answer.headers['retry-after'] !== undefined))
        answer.on('error', () => done(0, false))
      })
      sent.on('error', () => done(0, false))
      sent.end(bytes)
    })
  if (perS === undefined) {
    const run = async (): Promise<void> => {
      while (since() < seconds * 1000) await send(since())
    }
    await Promise.all(Array.from({ length: connections }, run))
  } else {
    const all: Promise<void>[] = []
    for (let n = 0; n < perS * seconds; n++) {
      const dueMs = (n / perS) * 1000
      const wait = dueMs - since()
      if (wait > 1 || n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, Math.max(0, wait)))
      all.push(send(dueMs))
    }
    await Promise.all(all)
  }
  agent.destroy()
  return answers
}
