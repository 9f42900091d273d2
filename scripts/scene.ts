import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'

const RECORDING = join(import.meta.dirname, '../schemas/examples/recorded/digits-sweep.jsonl')
const EMAIL = 'demo@example.com'
const PASSWORD = 'only for the pictures'
const ARRAY = 100

interface RecordedEvent extends Record<string, unknown> {
  timestamp: string
  event_type: string
  job_id: string | null
  data: Record<string, unknown>
}

export interface Scene {
  address: string
  /** `Cookie` of the account that everything belongs to. */
  cookie: string
  email: string
  /** The clock that the service goes by. */
  now: () => Date
  /** Asks the service as that account. @throws Error for what it refuses */
  call: <T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ) => Promise<T>
  /** May be called twice. */
  stop: () => Promise<void>
}

/**
 * A service with a database of its own and the recorded sweep of the demo in it, sent a few times: whole, in two halves,
 * cut off by a failure, and one that runs. Its clock begins at `beginning`, so that pictures differ by what changed only.
 */
export async function openScene(beginning: Date): Promise<Scene> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-pictures-'))
  const { config } = readConfig({ SVC_PORT: '0', SVC_DATA_DIR: dataDir, SVC_LOG_LEVEL: 'silent' })
  const opened = Date.now()
  const now = (): Date => new Date(beginning.getTime() + Date.now() - opened)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const app = await startApp(config, { now, logTo: nowhere })
  let stopped = false
  const stop = async (): Promise<void> => {
    if (stopped) return
    stopped = true
    await app.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const door = (method: string, path: string, body?: unknown, token?: string): Promise<Response> =>
      fetch(`${app.address}${path}`, {
        method,
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    const registered = await door('POST', '/api/auth/register', { email: EMAIL, password: PASSWORD })
    const session = ((await registered.json()) as { token: string }).token
    const cookie = registered.headers
      .getSetCookie()
      .map((line) => line.split(';', 1)[0])
      .join('; ')
    const call: Scene['call'] = async <T>(method: string, path: string, body?: unknown, token = session) => {
      const answer = await door(method, path, body, token)
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
      return (text === '' ? undefined : JSON.parse(text)) as T
    }
    await fill(call, beginning)
    return { address: app.address, cookie, email: EMAIL, now, call, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function fill(call: Scene['call'], beginning: Date): Promise<void> {
  const { token } = await call<{ token: string }>('POST', '/api/tokens', {
    name: 'trainer',
    scope: 'reporter',
  })
  const events = (await readFile(RECORDING, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedEvent)
  const send = async (some: readonly RecordedEvent[]): Promise<void> => {
    for (let at = 0; at < some.length; at += ARRAY)
      await call('POST', '/api/events/batch', some.slice(at, at + ARRAY), token)
  }
  const hidden = (wide: boolean) => (event: RecordedEvent) =>
    event.job_id === null || Number(/^h(\d+)/.exec(event.job_id)?.[1]) >= 128 === wide
  const sent = (id: string, some: readonly RecordedEvent[], endedAgoS: number, nTotal?: number) =>
    send(asOf(some, id, new Date(beginning.getTime() - endedAgoS * 1000), nTotal))
  await sent('digits-narrow', events.filter(hidden(false)), 26 * 3600, 2)
  await sent('digits-wide', events.filter(hidden(true)), 25 * 3600, 6)
  await sent('digits-sweep', events, 3 * 3600)
  const failing = events.slice(0, events.findIndex((event) => event.event_type === 'job_failed') + 1)
  const reason = 'IndexError: tuple index out of range'
  const last = failing.at(-1) as RecordedEvent
  await sent(
    'digits-steps',
    [
      ...failing,
      { ...last, event_type: 'batch_failed', job_id: null, data: { reason, total_elapsed_s: 11 } },
    ],
    40 * 60,
  )
  const cut = events.filter((event) => event.event_type === 'job_epoch').at(-60)?.timestamp ?? ''
  await sent(
    'digits-live',
    events.filter((event) => event.timestamp <= cut),
    0,
  )
}

/** These events under the id of another batch, moved in time so that the last one is at `end`. */
function asOf(
  events: readonly RecordedEvent[],
  id: string,
  end: Date,
  nTotal: number | undefined,
): RecordedEvent[] {
  const shift = end.getTime() - Math.max(...events.map((event) => Date.parse(event.timestamp)))
  const started = new Set<string>()
  for (const event of events) if (event.event_type === 'job_done') started.add(event.job_id ?? '')
  return events.map((event) => ({
    ...event,
    event_id: crypto.randomUUID(),
    batch_id: id,
    timestamp: new Date(Date.parse(event.timestamp) + shift).toISOString(),
    data: {
      ...event.data,
      ...(event.event_type === 'batch_start' && nTotal !== undefined && { n_total: nTotal }),
      ...(event.event_type === 'batch_done' &&
        nTotal !== undefined && { n_done: started.size, n_failed: nTotal - started.size }),
    },
  }))
}
