import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { thenEnd } from '../db/clean-up.ts'
import { startLiveTraining } from './live-training.ts'
import { start } from './start.ts'

const RECORDING = join(import.meta.dirname, '../../schemas/examples/recorded/digits-sweep.jsonl')
const EMAIL = 'demo@example.com'
const ARRAY = 100

interface RecordedEvent {
  event_id: string
  batch_id: string
  timestamp: string
  source: { project: string }
}

/**
 * Sends a recorded training (eight networks on scikit-learn's digits) as if it had ended now, and prints the result.
 * Uses the service at `url`, else the one on this machine, else starts one, which keeps running. Then a real training
 * of two minutes reports live, if Python is installed.
 * @param options.account address and password of the account that sends; without it, an account is created once for
 *   each service and stored in the data folder
 * @throws ConfigError with one line about what the operator can fix
 */
export async function demo(options: {
  url: string | undefined
  account: [email: string, password: string] | undefined
  config: Config
  warnings: readonly string[]
  /** How long the live training takes, in seconds; 0: none. */
  liveS: number
  environment: Record<string, string | undefined>
}): Promise<void> {
  const { config } = options
  const api = connect(await findOrStart(options))
  const session = await signIn(api, options.account, join(config.dataDir, 'demo-accounts.json'))
  const reporter = await api<{ id: string; token: string }>('POST', '/api/tokens', session, {
    name: 'demo',
    scope: 'reporter',
  })
  const events = shiftedToNow(readRecording(), new Date())
  const show = async (): Promise<void> => {
    await send(api, reporter.token, events)
    const batch = `/api/batches/${encodeURIComponent(events[0]?.batch_id ?? '')}`
    console.log(await table(api, session, batch))
    console.log(`  Address   ${api.url}/b/${encodeURIComponent(events[0]?.batch_id ?? '')}\n`)
    await live(api.url, reporter.token, options)
  }
  await thenEnd(show, () => api('DELETE', `/api/tokens/${reporter.id}`, session), console.error)
}

async function live(
  url: string,
  token: string,
  { liveS, environment }: Pick<Parameters<typeof demo>[0], 'liveS' | 'environment'>,
): Promise<void> {
  if (liveS === 0) return
  const training = startLiveTraining({ url, token, seconds: liveS, environment })
  if (training === undefined) {
    console.log('No Python 3.10 or newer was found, so no live training joins it.')
    return
  }
  console.log(`A live training joins it in the project digits, for about ${liveS} seconds. Ctrl-C ends it.`)
  await training
  console.log('The live training is over.')
}

/** Calls the service; throws a refusal as a ConfigError with its code. */
interface Api {
  <T>(method: string, path: string, token?: string, body?: unknown): Promise<T>
  url: string
}

class Refused extends ConfigError {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

function connect(url: string): Api {
  const call = async <T>(method: string, path: string, token?: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const answer = text === '' ? undefined : JSON.parse(text)
    if (!response.ok) {
      throw new Refused(answer.code, `${method} ${path}: ${response.status} ${answer.code}: ${answer.detail}`)
    }
    return answer as T
  }
  return Object.assign(call, { url })
}

async function findOrStart(options: Parameters<typeof demo>[0]): Promise<string> {
  const { url, config, warnings } = options
  if (url !== undefined) {
    const base = url.replace(/\/+$/, '')
    if (await answers(base)) return base
    throw new ConfigError(`no service answers at ${base}: start it, or correct SVC_URL`)
  }
  const host = ['0.0.0.0', '::'].includes(config.host) ? '127.0.0.1' : config.host
  const base = `http://${host.includes(':') ? `[${host}]` : host}:${config.port}`
  if (config.port !== 0 && (await answers(base))) return base
  const { address } = await start(config, warnings, options.environment)
  return address
}

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/livez`, { signal: AbortSignal.timeout(3_000) }).then(
    async (response) => response.ok && (await response.text()).includes('"ok"'),
    () => false,
  )

/** @returns the JWT of a session */
async function signIn(api: Api, account: [string, string] | undefined, file: string): Promise<string> {
  const known = readAccounts(file)
  const [email, password] = account ?? known[api.url] ?? [EMAIL, randomBytes(12).toString('base64url')]
  const enter = async (door: 'register' | 'login'): Promise<string> =>
    (await api<{ token: string }>('POST', `/api/auth/${door}`, undefined, { email, password })).token
  if (account !== undefined) return enter('login')
  if (known[api.url] !== undefined) {
    const token = await enter('login').catch(refusedAs('bad_credentials')) // the database may be another one by now
    if (token !== undefined) {
      console.log(`Signed in as ${email}, password ${password}`)
      return token
    }
  }
  const token = await enter('register').catch(refusedAs('email_taken', 'registration_closed'))
  if (token === undefined) {
    throw new ConfigError(
      `the demo cannot make an account at ${api.url}: set SVC_DEMO_EMAIL and SVC_DEMO_PASSWORD to one of yours`,
    )
  }
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, JSON.stringify({ ...known, [api.url]: [email, password] }), { mode: 0o600 })
  console.log(`Made an account: ${email}, password ${password}`)
  return token
}

/** Turns a refusal with one of these codes into undefined, and throws every other. */
const refusedAs =
  (...codes: string[]) =>
  (error: unknown): undefined => {
    if (!(error instanceof Refused && codes.includes(error.code))) throw error
  }

function readAccounts(file: string): Record<string, [string, string]> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

const readRecording = (): RecordedEvent[] =>
  readFileSync(RECORDING, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedEvent)

/** The same training under a new id and new event ids, moved in time so that its last event is now. */
export function shiftedToNow(events: readonly RecordedEvent[], now: Date): RecordedEvent[] {
  const shift = now.getTime() - Math.max(...events.map((event) => Date.parse(event.timestamp)))
  const moved = (text: string): string => new Date(Date.parse(text) + shift).toISOString()
  const began = moved(events[0]?.timestamp ?? now.toISOString())
  const batchId = `digits-sweep-${began.slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}-${randomBytes(2).toString('hex')}`
  return events.map((event) => ({
    ...event,
    event_id: randomUUID(),
    batch_id: batchId,
    timestamp: moved(event.timestamp),
  }))
}

async function send(api: Api, token: string, events: readonly RecordedEvent[]): Promise<void> {
  for (let at = 0; at < events.length; at += ARRAY) {
    const { results } = await api<{ results: { error?: { code: string; detail: string } }[] }>(
      'POST',
      '/api/events/batch',
      token,
      events.slice(at, at + ARRAY),
    )
    const error = results.find((result) => result.error !== undefined)?.error
    if (error === undefined) continue
    const hint =
      error.code === 'project_forbidden'
        ? `: the project ${events[0]?.source.project} is someone else's here. Set SVC_DEMO_EMAIL and SVC_DEMO_PASSWORD to a member of it`
        : ''
    throw new ConfigError(`the service refused an event: ${error.code}, ${error.detail}${hint}`)
  }
  console.log(`Sent ${events.length} events of a recorded training.\n`)
}

interface Batch {
  id: string
  project: string
  status: string
  n_total: number
  n_done: number
  n_failed: number
  elapsed_s: number
}
interface Job {
  id: string
  status: string
  epochs: number
  latest: Record<string, number | string | null>
  elapsed_s: number
  failure_reason: string | null
}

async function table(api: Api, session: string, path: string): Promise<string> {
  const batch = await api<Batch>('GET', path, session)
  const { items } = await api<{ items: Job[] }>('GET', `${path}/jobs?limit=500`, session)
  const rows = items
    .reverse() // oldest first
    .map((job) => [
      job.id,
      job.status,
      String(job.epochs),
      ...['train_loss', 'val_loss', 'val_acc'].map((key) => number(job.latest[key])),
      `${number(job.elapsed_s)} s`,
      job.failure_reason ?? '',
    ])
  const head = ['job', 'status', 'epochs', 'train_loss', 'val_loss', 'val_acc', 'elapsed', '']
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]): string =>
    `  ${cells.map((cell, i) => (i < 2 || i === 7 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ')}`.trimEnd()
  return [
    `  ${batch.project} / ${batch.id}: ${batch.status}, ${batch.n_done} of ${batch.n_total} jobs done, ${batch.n_failed} failed, ${number(batch.elapsed_s)} s`,
    '',
    ...[head, ...rows].map(line),
    '',
  ].join('\n')
}

/** Four significant digits; NaN and Infinity unchanged. */
const number = (value: number | string | null | undefined): string =>
  typeof value === 'number' ? String(Number(value.toPrecision(4))) : (value ?? '')
