import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { startApp } from '../../src/app.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { composedTexts } from '../../src/db/sql-fragment.ts'
import { freshDatabase } from './database.ts'
import { type Client, createClient } from './http.ts'

export interface TestApp {
  address: string
  config: Config
  /** The HTTP server, for facts that are not visible over HTTP, such as its list of routes. */
  app: FastifyInstance
  /** A connection of the test's own to the app's database. */
  sql: Sql
  call: Client['call']
  /** Registers a person. The first of a fresh database is an administrator. */
  register(email?: string): Promise<{ user: TestUser; token: string; cookie: string; email: string }>
  /** Makes a reporter token, as the person whose session token is given. */
  reporterToken(userToken: string, name?: string): Promise<string>
  /**
   * Makes a user a member or viewer of a project: invites them as its owner, and accepts as them. Without a mail server
   * the inviter confirms the address; with one the address counts as verified.
   */
  letIn(
    slug: string,
    owner: { token: string },
    person: { email: string; token: string },
    role: 'member' | 'viewer',
  ): Promise<void>
  /** Marks the address of an account as verified, as if its owner had used the link. */
  verify(email: string): Promise<void>
  /** Runs a cron task in this server now: `watch`, `sweep`, `prune_changes`. */
  runTask(name: string): Promise<void>
  /** Everything that was logged so far (with `logLevel` other than silent). */
  logged(): string
  /** Stops the server and drops its database, unless that was given. */
  stop(): Promise<void>
}

export interface TestUser {
  id: string
  email: string
  name: string
  role: 'admin' | 'user'
  created_at: string
}

/** Log lines of tests have any date, and servers sweep at the seventh minute of every hour. */
export const KEEPING = {
  SVC_RETENTION_LOG_LINE_DAYS: '36500',
  SVC_REGISTRATIONS_PER_HOUR: '1000000',
  // The visitors of all tests come from one address.
  SVC_VISITOR_COST_PER_S: '1000000',
}
export const PASSWORD = 'correct horse battery'

/**
 * The real app over a fresh database on a free port. `overrides` go above the configuration that an empty
 * environment gives; with `databaseUrl` among them, several apps share one database.
 */
export async function startTestApp(
  overrides: Partial<Config> = {},
  options: Omit<Parameters<typeof startApp>[1] & {}, 'logTo'> = {},
): Promise<TestApp> {
  const database = overrides.databaseUrl === undefined ? await freshDatabase() : undefined
  const defaults = readConfig({ SVC_PORT: '0', SVC_LOG_LEVEL: 'silent', ...KEEPING }).config
  const folder = overrides.files === undefined ? mkdtempSync(join(tmpdir(), 'svc-files-')) : undefined
  const config: Config = {
    ...defaults,
    // As with every database of one's own.
    archive: undefined,
    // The disk of a test may be small.
    ...(folder && { files: { ...defaults.files, url: pathToFileURL(folder).href, keepFreeBytes: 0 } }),
    ...(database && { databaseUrl: database.url }),
    ...overrides,
  }
  const lines: string[] = []
  const logTo = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const running = await startApp(config, { ...options, logTo }).catch(async (error) => {
    await database?.drop()
    throw error
  })
  const client = createClient(running.address)
  let people = 0
  const verify = async (email: string): Promise<void> => {
    const sql = database?.sql ?? openSql(config.databaseUrl as string, { name: 'test', max: 1 })
    await sql`update users set email_verified_at = now() where email_key = ${email.toLowerCase()}`
    if (database === undefined) await sql.end()
  }
  return {
    address: running.address,
    config,
    app: running.server,
    get sql() {
      if (database === undefined) throw new Error('the database was handed in: use its own connection')
      return database.sql
    },
    call: client.call,
    async register(email = `person${++people}@example.org`) {
      const answer = await client.call('POST', '/api/auth/register', { body: { email, password: PASSWORD } })
      if (answer.status !== 201) throw new Error(`register: ${answer.status} ${JSON.stringify(answer.body)}`)
      return { ...answer.body, email, cookie: cookieOf(answer.headers['set-cookie']) }
    },
    async reporterToken(token, name = 'reporter') {
      const answer = await client.call('POST', '/api/tokens', { token, body: { name, scope: 'reporter' } })
      if (answer.status !== 201) throw new Error(`token: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer.body.token
    },
    async letIn(slug, { token }, person, role) {
      if (config.smtp !== undefined) await verify(person.email)
      const body = { email: person.email, role, confirm_unverified: true }
      const invited = await client.call('POST', `/api/projects/${enc(slug)}/members`, { token, body })
      if (invited.status !== 201 || invited.body.state !== 'invited')
        throw new Error(`invite: ${invited.status} ${JSON.stringify(invited.body)}`)
      const path = `/api/invitations/${invited.body.invitation_id}/accept`
      const accepted = await client.call('POST', path, { token: person.token })
      if (accepted.status !== 200)
        throw new Error(`accept: ${accepted.status} ${JSON.stringify(accepted.body)}`)
    },
    verify,
    runTask: running.runTask,
    logged: () => lines.join(''),
    async stop() {
      client.close()
      await running.stop()
      await database?.drop()
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
      if (composedTexts.count > composedTexts.most)
        throw new Error(
          'sqlFragment composes ever new texts: pass values as parameters, not as part of the SQL',
        )
    },
  }
}

const enc = encodeURIComponent

/** `Cookie` from the `Set-Cookie` of an answer. */
export const cookieOf = (setCookie: string[] | undefined): string =>
  (setCookie ?? []).map((line) => line.split(';', 1)[0]).join('; ')
