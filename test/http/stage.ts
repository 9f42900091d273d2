import type { Config } from '../../src/config.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import type { Answer } from '../kit/http.ts'

export interface Person {
  id: string
  name: string
  email: string
  /** A session's token. */
  token: string
  /** A reporter token, and a read token. */
  reporter: string
  read: string
}

/** A user of every role in contract §2, a private project `vision` and a public one, `open`. */
export interface Stage {
  app: TestApp
  admin: Person
  /** Owns both projects. */
  owner: Person
  /** A member of both, who owns the batches that `batchOf` makes. */
  batchOwner: Person
  member: Person
  viewer: Person
  stranger: Person
  /** GET with this token; without one if none is given. */
  get(path: string, token?: string): Promise<Answer>
  /** Sends events and expects every one to be stored. */
  send(as: Person, events: unknown[]): Promise<void>
  stop(): Promise<void>
}

export async function openStage(
  overrides: Partial<Config> = {},
  options: Parameters<typeof startTestApp>[1] = {},
): Promise<Stage> {
  const app = await startTestApp({ rateLimit: { eventsPerS: 1e9, burst: 1e9 }, ...overrides }, options)
  const person = async (name: string): Promise<Person> => {
    const email = `${name}@example.org`
    const { user, token } = await app.register(email)
    const made = await app.call('POST', '/api/tokens', { token, body: { name: 'read', scope: 'read' } })
    const reporter = await app.reporterToken(token)
    return { id: user.id, name, email, token, reporter, read: made.body.token }
  }
  const admin = await person('admin')
  const [owner, batchOwner, member] = [
    await person('owner'),
    await person('batch-owner'),
    await person('member'),
  ]
  const [viewer, stranger] = [await person('viewer'), await person('stranger')]
  const must = async (status: number, answer: Promise<Answer>) => {
    const { status: got, body } = await answer
    if (got !== status) throw new Error(`${got} ${JSON.stringify(body)}`)
  }
  for (const [slug, visibility] of [
    ['vision', 'private'],
    ['open', 'public'],
  ]) {
    await must(201, app.call('POST', '/api/projects', { token: owner.token, body: { slug, visibility } }))
    for (const [person, role] of [
      [batchOwner, 'member'],
      [member, 'member'],
      [viewer, 'viewer'],
    ] as const) {
      await app.letIn(slug as string, owner, person, role)
    }
  }
  return {
    app,
    admin,
    owner,
    batchOwner,
    member,
    viewer,
    stranger,
    get: (path, token) => app.call('GET', path, token === undefined ? {} : { token }),
    async send(as, events) {
      const { status, body } = await app.call('POST', '/api/events/batch', {
        token: as.reporter,
        body: events,
      })
      const refused = body.results?.find((result: { error?: unknown }) => result.error !== undefined)
      if (status !== 200 || refused) throw new Error(`${status} ${JSON.stringify(refused ?? body)}`)
    },
    stop: () => app.stop(),
  }
}

let batches = 0
/** The events of a batch that has begun, with an id of its own. */
export function startOf(
  fields: { id?: string; project?: string; source?: Record<string, unknown>; timestamp?: string } = {},
  data: Record<string, unknown> = {},
) {
  const {
    id = `batch-${++batches}`,
    project = 'vision',
    source,
    timestamp = new Date().toISOString(),
  } = fields
  return makeEvent('batch_start', { batch_id: id, source: { project, ...source }, timestamp, data })
}

/** A name in a path. */
export const enc = encodeURIComponent
