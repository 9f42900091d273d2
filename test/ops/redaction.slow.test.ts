import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { makeSecret, passwordsIn, scrub } from '../../src/secrets.ts'
import { makeEvent, UNLIMITED } from '../ingest/sending.ts'
import { cookieOf, startTestApp, type TestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import type { Answer, CallOptions } from '../kit/http.ts'

/**
 * Every kind of secret is made, used rightly and put into every wrong place, at a server that logs all it can. Then the
 * log, all error answers and the figures are searched for each of them.
 */
const PASSWORD = 'Pa55-horse-battery-staple'
const NEW_PASSWORD = 'N3w-horse-battery-staple'

let app: TestApp
let database: TestDatabase
let databasePassword: string
const MAIL_PASSWORD = 'Sm7p-mail-server-secret'
const CLIENT_SECRET = 'C1ient-secret-of-the-provider'
const secrets: Record<string, string> = {
  password: PASSWORD,
  'new password': NEW_PASSWORD,
  'mail password': MAIL_PASSWORD,
  'client secret': CLIENT_SECRET,
}
/** Ordinary words, so that only their place shows that they are secrets. */
const WORDS = /password|client secret/
/** Answers with status 400 or above, without the input of the caller that they repeat. */
const errors: { what: string; body: string }[] = []

async function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const answer = await app.call(method, path, options)
  const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
  const refused = answer.status >= 400 || /"errors?":/.test(body)
  if (refused)
    errors.push({
      what: `${method} ${path.slice(0, 40)} ${answer.status}`,
      body: body + JSON.stringify(answer.headers),
    })
  return answer
}

beforeAll(async () => {
  database = await freshDatabase()
  databasePassword = decodeURIComponent(new URL(database.url).password)
  secrets['database password'] = databasePassword
  app = await startTestApp({
    ...UNLIMITED,
    databaseUrl: database.url,
    logLevel: 'debug',
    // Nothing answers there: the failure is logged.
    smtp: { url: `smtp://mailer:${MAIL_PASSWORD}@127.0.0.1:1`, from: 'svc@example.org' },
    identityProviders: [
      {
        id: 'corp',
        name: 'Corp',
        clientId: 'svc',
        clientSecret: CLIENT_SECRET,
        clientAuth: undefined,
        scopes: 'openid email',
        allow: [],
        endpoints: { kind: 'discovered', issuer: 'http://127.0.0.1:1' },
      },
    ],
  })
  const registered = await call('POST', '/api/auth/register', {
    body: { email: 'a@example.org', password: PASSWORD },
  })
  const jwt = registered.body.token as string
  secrets.jwt = jwt
  secrets.cookie = cookieOf(registered.headers['set-cookie']).split('=')[1] as string
  for (const scope of ['reporter', 'read'])
    secrets[scope] = (
      await call('POST', '/api/tokens', { token: jwt, body: { name: scope, scope } })
    ).body.token
  const event = makeEvent('batch_start', { batch_id: 'shared' })
  expect((await call('POST', '/api/events', { token: secrets.reporter as string, body: event })).status).toBe(
    200,
  )
  secrets.share = (await call('POST', '/api/batches/shared/shares', { token: jwt, body: {} })).body.token
  const agent = { hostname: 'box1', capabilities: {}, version: '1' }
  secrets.agent = (await call('POST', '/api/agents/register', { token: jwt, body: agent })).body.agent_token
  for (const [name, secret] of Object.entries(secrets)) expect(secret?.length, name).toBeGreaterThan(20)
})
afterAll(async () => {
  await app?.stop()
  await database?.drop()
})

/** Each secret, valid and with an invalid end. */
const each = (): [name: string, text: string][] =>
  Object.entries(secrets).flatMap(([name, secret]) => [
    [name, secret],
    [`bad ${name}`, `${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`],
  ])

async function misuse(secret: string): Promise<void> {
  const inPath = encodeURIComponent(secret)
  const token = secrets.jwt as string
  const reporter = secrets.reporter as string
  // As a credential of every kind.
  await call('GET', '/api/auth/me', { token: secret })
  await call('GET', '/api/batches', { token: secret })
  await call('GET', '/api/auth/me', { headers: { authorization: `Basic ${secret}` } })
  await call('GET', '/api/auth/me', { cookie: `svc_session=${secret}` })
  await call('POST', '/api/events', { token: secret, body: makeEvent('log_line') })
  await call('POST', '/graphql', { token: secret, body: { query: '{ viewer { id } }' } })
  await call('GET', `/api/shared/${inPath}`)
  await call('GET', `/api/sse?channel=${encodeURIComponent(`share:${secret}`)}`)
  // In an address.
  await call('GET', `/api/batches?token=${inPath}`, { token })
  await call('GET', `/api/batches?${inPath}=1`, { token })
  await call('GET', `/api/batches?limit=${inPath}`, { token })
  await call('GET', `/api/batches?cursor=${inPath}`, { token })
  await call('GET', `/api/sse?channels=${inPath}&last_event_id=${inPath}`, { token })
  await call('GET', `/api/${inPath}`)
  await call('GET', `/api/batches/${inPath}`, { token })
  await call('POST', `/api/batches/${inPath}/stop`, { token })
  await call('DELETE', `/api/shares/${inPath}`, { token })
  await call('GET', `/api/agents/${inPath}/jobs`, { token })
  await call('GET', `/graphql?query=${encodeURIComponent(`{ ${secret} }`)}`, { token })
  // In a body that fails.
  await call('POST', '/api/auth/login', { body: { email: secret, password: 1 } })
  await call('POST', '/api/auth/login', { body: `{"password": "${secret}` })
  await call('POST', '/api/auth/register', { body: { email: 'x', password: secret, other: 1 } })
  await call('POST', '/api/tokens', { token, body: { name: secret, scope: secret } })
  await call('POST', '/api/projects', {
    token,
    body: { slug: `${secret}/`, visibility: secret, [secret]: 1 },
  })
  await call('POST', '/graphql', {
    token,
    body: { query: `{ batch(id: "${secret}") { ${secret.replace(/\W/g, '_')} } }` },
  })
  await call('POST', '/graphql', {
    token,
    body: { query: 'query ($id: Int!) { batch(id: $id) { id } }', variables: { id: secret } },
  })
  // In an event, good and bad.
  const event = makeEvent('batch_start', {
    batch_id: secret,
    source: { project: 'vision', command: `train --key ${secret}` },
  })
  await call('POST', '/api/events', { token: reporter, body: event })
  await call('POST', '/api/events', {
    token: reporter,
    body: { ...event, event_id: secret, event_type: secret },
  })
  await call('POST', '/api/events/batch', {
    token: reporter,
    body: [{ ...event, schema_version: secret }, secret],
  })
  await call('POST', '/api/events', {
    token: reporter,
    body: { ...event, event_id: crypto.randomUUID(), data: { ...event.data, n_total: secret } },
  })
}

describe('secrets, sent correctly and incorrectly to a server that logs everything,', () => {
  test('are in no log line, no error answer and no metric, after any failure', {
    timeout: 240_000,
  }, async () => {
    for (const [, secret] of each()) await misuse(secret)
    const token = secrets.jwt as string
    await call('PATCH', '/api/auth/me', {
      token,
      body: { current_password: NEW_PASSWORD, password: PASSWORD },
    })
    await call('PATCH', '/api/auth/me', {
      token,
      body: { current_password: PASSWORD, password: NEW_PASSWORD },
    })
    expect((await call('GET', '/api/oauth/corp/start')).status).toBeGreaterThanOrEqual(300)
    const rule = await call('POST', '/api/projects/vision/rules', {
      token,
      body: { name: 'r', trigger: 'batch_done', recipients: ['b@example.org'] },
    })
    expect(rule.status, JSON.stringify(rule.body)).toBe(201)
    await call('POST', `/api/rules/${rule.body.id}/test`, { token })
    // What fails within the database is logged with its cause.
    await database.sql`alter table batches rename to batches_away`
    for (const [, secret] of each()) {
      await call('GET', `/api/batches/${encodeURIComponent(secret)}`, { token })
      await call('POST', '/api/events', {
        token: secrets.reporter as string,
        body: makeEvent('log_line', { batch_id: secret }),
      })
      await call('POST', '/graphql', { token, body: { query: `{ batch(id: "${secret}") { id } }` } })
    }
    await database.sql`alter table batches_away rename to batches`
    await call('POST', '/api/auth/logout', { token })
    await sleep(1_500)

    const log = app.logged()
    const figures = (await app.call('GET', '/metrics')).body as string
    expect(log).toContain('batches')
    expect(log.split('\n').length).toBeGreaterThan(20)
    expect(errors.length).toBeGreaterThan(200)
    for (const [name, secret] of each()) {
      const spellings = [secret, encodeURIComponent(secret), secret.replace(/\W/g, '_')]
      for (const text of spellings) {
        expect(log.includes(text), `${name} in the log: ${around(log, text)}`).toBe(false)
        expect(figures.includes(text), `${name} in the figures`).toBe(false)
      }
      // A password can also be an ordinary word: sent as the name of a batch, it is in the answer.
      if (WORDS.test(name)) continue
      const leaks = errors.filter(({ body }) => body.includes(secret))
      expect(
        leaks.map(({ what, body }) => `${what}: ${around(body, secret)}`),
        name,
      ).toEqual([])
    }
  })

  test('and a password with the value "password" is in no error answer', () => {
    const signingIn = errors.filter(({ what }) => /\/api\/auth\//.test(what))
    expect(signingIn.length).toBeGreaterThan(20)
    for (const { what, body } of signingIn)
      for (const secret of [PASSWORD, NEW_PASSWORD, MAIL_PASSWORD, CLIENT_SECRET])
        expect(body.includes(secret), `${what}: ${body}`).toBe(false)
  })
})

const around = (text: string, word: string): string => {
  const at = text.indexOf(word)
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + word.length + 100)
}

describe('the redaction of log lines', () => {
  test('removes text that looks like a secret, and keeps ordinary names', () => {
    for (const [text, wanted] of [
      ['postgresql://svc:p%40ss@db.example.org:5432/x', 'postgresql://svc:[hidden]@db.example.org:5432/x'],
      ['smtps://me:secret word@mail', 'smtps://me:secret word@mail'],
      ['smtps://me:secret@mail', 'smtps://me:[hidden]@mail'],
      ['em_live_abc and em_read_x, ag_live_y', 'em_live_[hidden] and em_read_[hidden], ag_live_[hidden]'],
      ['share:Xb3dEfGhIjKlMnOpQrStUvWxYz012345 is', 'share:[hidden] is'],
      ['digits-sweep-20260301-100000-abcd', 'digits-sweep-20260301-100000-abcd'],
      ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8057'],
      ['http://localhost:8080/b/a@b', 'http://localhost:8080/b/a@b'],
    ] as const)
      expect(scrub(text)).toBe(wanted)
    expect(passwordsIn('smtp://u:p%40ssword@h', undefined)).toEqual(['p%40ssword', 'p@ssword'])
  })

  test.each([24, 32] as const)('recognises every secret of %d random bytes', (bytes) => {
    for (let n = 0; n < 5_000; n++) {
      const secret = makeSecret(bytes)
      expect(scrub(`/s/${secret}?x`)).toBe('/s/[hidden]?x')
    }
  })

  test('removes the passwords of configured addresses and rows quoted by the database', () => {
    const lines: string[] = []
    const to = { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream
    const { config } = readConfig({
      SVC_LOG_LEVEL: 'debug',
      SVC_DATABASE_URL: 'postgresql://u:s3cretword@h/d',
      SVC_SMTP_URL: 'smtp://u:mailword@h',
      SVC_OAUTH_CORP_ISSUER: 'https://id.example.org',
      SVC_OAUTH_CORP_CLIENT_ID: 'svc',
      SVC_OAUTH_CORP_CLIENT_SECRET: 'clientsecret',
    })
    const { log } = createLog(config, to)
    const err = Object.assign(new Error('violates'), {
      detail: 'Failing row contains (x, y)',
      parameters: ['z'],
      code: '23505',
    })
    log.error({ err, note: 's3cretword' }, 'connecting with s3cretword, mailword and clientsecret')
    expect(lines.join()).not.toMatch(/s3cretword|mailword|clientsecret|Failing row|parameters/)
    expect(lines.join()).toContain('violates')
  })
})
