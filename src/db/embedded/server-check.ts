import { realpathSync } from 'node:fs'
import postgres from 'postgres'
import { codeOf, messageOf } from '../../thrown.ts'

/** The settings that must be on, so that an acknowledged event is never lost. */
const DURABLE = ['fsync', 'synchronous_commit', 'full_page_writes'] as const

/**
 * `ready`: the server answers; `unsafe` names the settings with which it could lose an acknowledged commit. `starting`:
 * alive, but recovering, shutting down or out of connections. `foreign`: a server answers that refuses the password or
 * keeps its data elsewhere. `unreachable`: no answer, even if pg_ctl says that it runs.
 */
export type ServerState =
  | { state: 'ready'; unsafe: string[] }
  | { state: 'starting' }
  | { state: 'foreign'; reason: string }
  | { state: 'unreachable'; reason: string }

/** Queries the server over a real connection. */
export async function checkServer(url: string, data: string): Promise<ServerState> {
  const sql = postgres(url, { max: 1, connect_timeout: 3, idle_timeout: 1, onnotice: () => {} })
  try {
    const query = sql<{ name: string; setting: string }[]>`
      /* embedded.prove */ select name, setting from pg_settings where name in ${sql([...DURABLE, 'data_directory'])}`
    const settings = new Map((await answerWithin(query, 5_000)).map((row) => [row.name, row.setting]))
    const actual = settings.get('data_directory') ?? ''
    if (realpathSync(actual) !== realpathSync(data))
      return { state: 'foreign', reason: `the server that answered for ${data} keeps its data in ${actual}` }
    return { state: 'ready', unsafe: DURABLE.filter((name) => settings.get(name) !== 'on') }
  } catch (error) {
    return readFailure(error, data)
  } finally {
    await sql.end({ timeout: 0 }).catch(() => {})
  }
}

function readFailure(error: unknown, data: string): ServerState {
  const code = codeOf(error) ?? ''
  if (code === '57P03' || code === '57P01' || code === '53300') return { state: 'starting' }
  if (code.startsWith('28'))
    return {
      state: 'foreign',
      reason: `the PostgreSQL of ${data} refuses the password that is kept beside its data: ${messageOf(error)}`,
    }
  if (/^[A-Z_]+$/.test(code)) return { state: 'unreachable', reason: messageOf(error) || code }
  throw error
}

function answerWithin<T>(query: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = Object.assign(new Error(`no answer within ${ms / 1000} s`), { code: 'NO_ANSWER' })
    timer = setTimeout(() => reject(error), ms)
  })
  return Promise.race([query, late]).finally(() => clearTimeout(timer))
}
