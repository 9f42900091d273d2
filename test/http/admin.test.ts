import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

type Person = Awaited<ReturnType<TestApp['register']>>
let app: TestApp
let admin: Person
const clock = createClock()
beforeAll(async () => {
  app = await startTestApp({}, { now: clock.now })
  admin = await app.register()
  clock.forward({ seconds: 1 })
})
afterAll(() => app?.stop())

const login = async (email: string) =>
  (await app.call('POST', '/api/auth/login', { body: { email, password: PASSWORD } })).body.token as string
const me = (token: string) => app.call('GET', '/api/auth/me', { token })
const change = (id: string, body: unknown, token = admin.token) =>
  app.call('PATCH', `/api/admin/users/${id}`, { token, body })

describe('only an administrator', () => {
  const paths: [string, string][] = [
    ['POST', '/api/admin/jwt/rotate'],
    ['GET', '/api/admin/users'],
    ['PATCH', '/api/admin/users/x'],
  ]
  test.each(paths)('may %s %s', async (method, path) => {
    const user = await app.register()
    expect((await app.call(method, path)).status).toBe(401)
    expect(await app.call(method, path, { token: user.token })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
  })
})

describe('rotating the signing key', () => {
  let app: TestApp
  let email: string
  const clock = createClock()
  const login = async () =>
    (await app.call('POST', '/api/auth/login', { body: { email, password: PASSWORD } })).body.token as string
  const me = async (token: string) => (await app.call('GET', '/api/auth/me', { token })).status
  const rotate = async () => (await app.call('POST', '/api/admin/jwt/rotate', { token: await login() })).body
  const kidOf = (token: string) => decodeProtectedHeader(token).kid
  beforeEach(async () => {
    app = await startTestApp({}, { now: clock.now })
    email = (await app.register()).email
    return () => app.stop()
  })

  test('signs with the new key and keeps the newest two retired ones', async () => {
    const tokens = [await login()]
    for (let i = 0; i < 4; i++) {
      const answer = await rotate()
      tokens.push(await login())
      const kids = tokens.map(kidOf).reverse()
      expect(answer).toEqual({ active_kid: kids[0], verify_kids: kids.slice(1, 3) })
      const works = await Promise.all(tokens.map(me))
      expect(works.reverse()).toEqual(kids.map((_, age) => (age <= 2 ? 200 : 401)))
    }
    expect(await app.sql`select kid from signing_keys where secret is not null`).toHaveLength(3)
  })

  test('keeps a retired key until the last token that it signed has expired, and no longer', async () => {
    const old = await login()
    clock.forward({ hours: 6 })
    const last = await login()
    const { verify_kids } = await rotate()
    expect(verify_kids).toEqual([kidOf(old)])
    clock.forward({ hours: 6, minutes: 1 })
    expect([await me(old), await me(last)]).toEqual([401, 200])
    clock.forward({ hours: 6 })
    expect(await me(last)).toBe(401)
    expect((await rotate()).verify_kids).toHaveLength(1)
    expect(await app.sql`select from signing_keys where kid = ${kidOf(old) ?? ''}`).toHaveLength(0)
  })

  test('keeps users of the page signed in', async () => {
    const { cookie } = await app.register()
    for (let i = 0; i < 4; i++) await rotate()
    expect((await app.call('GET', '/api/auth/me', { cookie })).status).toBe(200)
  })

  test('by several requests at once leaves one active key', async () => {
    const token = await login()
    const call = () => app.call('POST', '/api/admin/jwt/rotate', { token })
    const answers = await Promise.all([call(), call()])
    expect(answers.map((answer) => answer.status)).toEqual([200, 200])
    expect(await app.sql`select kid from signing_keys where retired_at is null`).toHaveLength(1)
  })

  test('is in the audit log', async () => {
    const { active_kid } = await rotate()
    const entries = await app.sql`
      select action, subject from audit_log where subject like 'signing_key:%'`
    expect(entries).toEqual([{ action: 'signing_key.rotated', subject: `signing_key:${active_kid}` }])
  })
})

describe('the list of users', () => {
  test('shows all users, newest first, page by page, without password hashes', async () => {
    for (let i = 0; i < 4; i++) {
      clock.forward({ seconds: 1 })
      await app.register()
    }
    const all = await app.call('GET', '/api/admin/users?limit=500', { token: admin.token })
    expect(all.body.next_cursor).toBeNull()
    const times = all.body.items.map((item: { created_at: string }) => Date.parse(item.created_at))
    expect(times).toEqual(times.toSorted((a: number, b: number) => b - a))
    expect(all.body.items.at(-1)).toEqual({ ...admin.user, disabled: false })
    const ids: string[] = []
    let cursor = ''
    do {
      const { body } = await app.call('GET', `/api/admin/users?limit=2${cursor}`, { token: admin.token })
      expect(body.items.length).toBeLessThanOrEqual(2)
      ids.push(...body.items.map((item: { id: string }) => item.id))
      cursor = body.next_cursor && `&cursor=${body.next_cursor}`
    } while (cursor)
    expect(ids).toEqual(all.body.items.map((item: { id: string }) => item.id))
  })
})

describe('a role', () => {
  test('can be given and taken away, and applies from the next request on', async () => {
    const user = await app.register()
    const up = await change(user.user.id, { role: 'admin' })
    expect(up).toMatchObject({
      status: 200,
      body: { user: { ...user.user, role: 'admin', disabled: false } },
    })
    expect((await app.call('GET', '/api/admin/users', { token: user.token })).status).toBe(200)
    await change(user.user.id, { role: 'admin' })
    await change(user.user.id, { role: 'user' })
    expect((await app.call('GET', '/api/admin/users', { token: user.token })).status).toBe(403)
    const entries = await app.sql`
      select action, actor_id, detail from audit_log
      where subject = ${`user:${user.user.id}`} and action = 'user.role_changed' order by id`
    expect(entries).toEqual([
      { action: 'user.role_changed', actor_id: admin.user.id, detail: { from: 'user', to: 'admin' } },
      { action: 'user.role_changed', actor_id: admin.user.id, detail: { from: 'admin', to: 'user' } },
    ])
  })
})

describe('the last administrator', () => {
  test('can be neither demoted nor disabled', async () => {
    for (const body of [{ role: 'user' }, { disabled: true }, { role: 'user', disabled: true }]) {
      expect(await change(admin.user.id, body)).toMatchObject({ status: 409, body: { code: 'last_admin' } })
    }
    expect((await me(admin.token)).body.user.role).toBe('admin')
  })

  test('may be demoted if another enabled administrator exists', async () => {
    const other = await app.register()
    await change(other.user.id, { role: 'admin', disabled: true })
    expect((await change(admin.user.id, { role: 'user' })).status).toBe(409)
    await change(other.user.id, { disabled: false })
    expect((await change(admin.user.id, { role: 'user' }, await login(other.email))).status).toBe(200)
    expect((await change(admin.user.id, { role: 'admin' }, await login(other.email))).status).toBe(200)
    expect((await change(other.user.id, { role: 'user' })).status).toBe(200)
  })

  test('remains when two administrators demote each other at the same time', async () => {
    const other = await app.register()
    await change(other.user.id, { role: 'admin' })
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all([
        change(other.user.id, { role: 'user' }, admin.token),
        change(admin.user.id, { role: 'user' }, other.token),
      ])
      const admins = await app.sql<{ id: string }[]>`select id from users where role = 'admin'`
      expect(admins).toHaveLength(1)
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
      const [left, demoted] = admins[0]?.id === admin.user.id ? [admin, other] : [other, admin]
      expect((await change(demoted.user.id, { role: 'admin' }, left.token)).status).toBe(200)
    }
    await change(other.user.id, { role: 'user' })
  })
})

describe('disabling an account', () => {
  let person: Person
  let reporter: string
  let read: string
  beforeEach(async () => {
    person = await app.register()
    reporter = await app.reporterToken(person.token)
    read = (
      await app.call('POST', '/api/tokens', { token: person.token, body: { name: 'r', scope: 'read' } })
    ).body.token
  })

  test('closes its sessions and stops its tokens at once', async () => {
    const answer = await change(person.user.id, { disabled: true })
    expect(answer).toMatchObject({ status: 200, body: { user: { id: person.user.id, disabled: true } } })
    for (const token of [person.token, reporter, read]) {
      expect(await me(token)).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    }
    expect((await app.call('GET', '/api/auth/me', { cookie: person.cookie })).status).toBe(401)
  })

  test('refuses the right password, and gives the reason only to callers who know it', async () => {
    await change(person.user.id, { disabled: true })
    const attempt = (password: string) =>
      app.call('POST', '/api/auth/login', { body: { email: person.email, password } })
    expect(await attempt(PASSWORD)).toMatchObject({ status: 403, body: { code: 'account_disabled' } })
    expect(await attempt('wrong password')).toMatchObject({ status: 401, body: { code: 'bad_credentials' } })
  })

  test('can be undone: tokens stay revoked, sessions stay closed, and the user can sign in again', async () => {
    await change(person.user.id, { disabled: true })
    await change(person.user.id, { disabled: false })
    expect((await me(read)).status).toBe(401)
    expect((await me(person.token)).status).toBe(401)
    expect((await me(await login(person.email))).status).toBe(200)
    const entries = await app.sql`select action from audit_log
      where subject = ${`user:${person.user.id}`} and action in ('user.disabled', 'user.enabled') order by id`
    expect(entries.map((entry) => entry.action)).toEqual(['user.disabled', 'user.enabled'])
  })
})

test.each([
  [{}],
  [{ role: 'owner' }],
  [{ disabled: 'yes' }],
  [{ disabled: null }],
  [{ role: 'user', email: 'x@example.org' }],
  [[]],
])('%j as a change of a user is refused', async (body) => {
  expect(await change(admin.user.id, body)).toMatchObject({ status: 422, body: { code: 'invalid_body' } })
})

test.each([
  crypto.randomUUID(),
  'x',
  '%00',
  'a'.repeat(300),
])('a change of an unknown or malformed user id (case %#) is 404', async (id) => {
  expect(await change(id, { role: 'user' })).toMatchObject({ status: 404, body: { code: 'user_not_found' } })
})
