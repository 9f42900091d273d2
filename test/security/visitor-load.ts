import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type ClientRequest, request } from 'node:http'

/**
 * Many requests at a time from one address, by a process of its own: what reads their answers does not slow down those
 * that are measured.
 */
export interface Load {
  address: string
  /** Each is kept running: a new one starts when it ends, and a refused one is sent again after a moment. */
  requests: { method: 'GET' | 'POST'; path: string; body?: unknown; headers?: Record<string, string> }[]
}

export interface LoadReport {
  /** How many answers had each status. */
  statuses: Record<string, number>
  /** Refusals without whole seconds in `Retry-After`. */
  withoutRetryAfter: number
  bytes: number
  messages: number
}

/** Starts the load. The function ends it. */
export async function startLoad(load: Load): Promise<() => Promise<LoadReport>> {
  const child = fork(import.meta.filename, { execArgv: ['--import', 'tsx'], stdio: 'inherit' })
  child.send(load)
  await once(child, 'message')
  return async () => {
    const reported = once(child, 'message')
    child.send('end')
    const [report] = (await reported) as [LoadReport]
    await once(child, 'exit')
    return report
  }
}

const PAUSE_MS = 20

function run({ address, requests }: Load): void {
  const report: LoadReport = { statuses: {}, withoutRetryAfter: 0, bytes: 0, messages: 0 }
  const agent = new Agent({ keepAlive: true })
  const open = new Set<ClientRequest>()
  function send(one: Load['requests'][number]): void {
    const body = one.body === undefined ? undefined : JSON.stringify(one.body)
    const headers = {
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
      ...one.headers,
    }
    const sent = request(new URL(one.path, address), { method: one.method, agent, headers }, (answer) => {
      const status = answer.statusCode ?? 0
      report.statuses[status] = (report.statuses[status] ?? 0) + 1
      if (status === 429 && !/^[1-9]\d*$/.test(answer.headers['retry-after'] ?? ''))
        report.withoutRetryAfter++
      answer.on('data', (chunk: Buffer) => {
        report.bytes += chunk.length
        if (chunk.includes('event: next')) report.messages++
      })
      answer.on('error', () => {})
      answer.on('close', () => setTimeout(() => send(one), status === 200 ? 0 : PAUSE_MS))
    })
    open.add(sent)
    sent.on('close', () => open.delete(sent))
    sent.on('error', () => setTimeout(() => send(one), PAUSE_MS))
    sent.end(body)
  }
  for (const one of requests) send(one)
  process.send?.('begun')
  process.once('message', () => {
    process.send?.(report, () => process.exit())
  })
}

if (process.argv[1] === import.meta.filename) process.once('message', (load) => run(load as Load))
