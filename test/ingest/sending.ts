import { randomUUID } from 'node:crypto'
import type { Config } from '../../src/config.ts'
import type { Sql } from '../../src/db/sql.ts'
import type { EventType } from '../../src/domain/events/index.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { freshDatabase } from '../kit/database.ts'
import type { Answer } from '../kit/http.ts'

/** An event as a test writes it: valid unless the test changes it. */
export interface TestEvent {
  event_id: string
  schema_version: string
  event_type: EventType
  timestamp: string
  batch_id: string
  job_id: string | null
  source: Record<string, unknown>
  data: Record<string, unknown>
}

/** The required fields of each type. */
const DATA: Record<EventType, Record<string, unknown>> = {
  batch_start: { experiment_type: 'sweep', n_total: 1 },
  batch_done: { n_done: 1, n_failed: 0, total_elapsed_s: 60 },
  batch_failed: { reason: 'ValueError', total_elapsed_s: 60 },
  job_start: {},
  job_epoch: { epoch: 0 },
  job_done: {},
  job_failed: { reason: 'ValueError', elapsed_s: 60 },
  resource_snapshot: {},
  log_line: { line: 'hello', level: 'info' },
}
const OF_JOB = new Set<EventType>(['job_start', 'job_epoch', 'job_done', 'job_failed', 'log_line'])

export function makeEvent(
  type: EventType,
  fields: Partial<Omit<TestEvent, 'event_type'>> & Record<string, unknown> = {},
): TestEvent & Record<string, unknown> {
  return {
    event_id: randomUUID(),
    schema_version: '1.1',
    event_type: type,
    timestamp: '2026-03-01T10:00:00Z',
    batch_id: 'batch-1',
    job_id: OF_JOB.has(type) ? 'job-1' : null,
    source: { project: 'vision' },
    ...fields,
    data: { ...DATA[type], ...fields.data },
  }
}

/** No rate limit, for tests that are not about it. */
export const UNLIMITED = { rateLimit: { eventsPerS: 1e9, burst: 1e9 } } as const

export interface Door {
  app: TestApp
  sql: Sql
  /** Of the user whose reporter token `token` is; the first user, so an administrator. */
  session: string
  userId: string
  token: string
  /** POST /api/events. */
  send(event: unknown, token?: string): Promise<Answer>
  /** POST /api/events/batch. */
  sendAll(events: unknown, token?: string): Promise<Answer>
  /** Another person with a reporter token, no administrator. */
  stranger(): Promise<{ token: string; session: string; userId: string }>
  stop(): Promise<void>
}

/** The real app over a fresh database, with a user and a reporter token. */
export async function openDoor(
  overrides: Partial<Config> = {},
  options: Parameters<typeof startTestApp>[1] = {},
): Promise<Door> {
  const database = await freshDatabase()
  const app = await startTestApp({ ...UNLIMITED, ...overrides, databaseUrl: database.url }, options)
  const { user, token: session } = await app.register()
  const token = await app.reporterToken(session)
  return {
    app,
    sql: database.sql,
    session,
    userId: user.id,
    token,
    send: (body, as = token) => app.call('POST', '/api/events', { token: as, body }),
    sendAll: (body, as = token) => app.call('POST', '/api/events/batch', { token: as, body }),
    async stranger() {
      const person = await app.register()
      return {
        token: await app.reporterToken(person.token),
        session: person.token,
        userId: person.user.id,
      }
    },
    async stop() {
      await app.stop()
      await database.drop()
    },
  }
}

/** A second server on the first one's database, as a replica would be. */
export async function openSecond(first: Door): Promise<TestApp> {
  return startTestApp({ ...UNLIMITED, databaseUrl: first.app.config.databaseUrl as string })
}
