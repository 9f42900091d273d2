import { afterAll, beforeAll, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
let admin: { token: string; user: { id: string }; email: string }
beforeAll(async () => {
  app = await startTestApp({ trustProxy: true })
  admin = await app.register('admin@example.org')
})
afterAll(() => app?.stop())

const audit = (query = '') => app.call('GET', `/api/admin/audit${query}`, { token: admin.token })

test('the audit log has sign-ins, failures, registrations, passwords, tokens and roles with their IP addresses', async () => {
  const headers = { 'x-forwarded-for': '192.0.2.44' }
  const made = await app.call('POST', '/api/auth/register', {
    body: { email: 'grace@example.org', password: PASSWORD, name: '=cmd()' },
    headers,
  })
  const { token, user } = made.body
  const login = (email: string, password: string) =>
    app.call('POST', '/api/auth/login', { body: { email, password }, headers })
  await login('grace@example.org', PASSWORD)
  await login('grace@example.org', 'not the password')
  await login('my secret typed into the wrong field', 'x')
  const password = 'a new and better password'
  await app.call('PATCH', '/api/auth/me', {
    token,
    body: { password, current_password: PASSWORD },
    headers,
  })
  const reporter = await app.call('POST', '/api/tokens', {
    token,
    body: { name: 'r', scope: 'reporter' },
    headers,
  })
  await app.call('DELETE', `/api/tokens/${reporter.body.id}`, { token, headers })
  await app.call('POST', '/api/auth/logout', { token, headers })
  await app.call('PATCH', `/api/admin/users/${user.id}`, { token: admin.token, body: { role: 'admin' } })

  const { body } = await audit('?address=192.0.2.44')
  const seen = body.items.map((entry: { action: string }) => entry.action)
  expect(seen).toEqual([
    'user.signed_out',
    'token.revoked',
    'token.created',
    'user.password_changed',
    'user.sign_in_failed',
    'user.sign_in_failed',
    'user.signed_in',
    'user.registered',
  ])
  const failures = (await audit('?action=user.sign_in_failed')).body.items
  expect(failures).toMatchObject([
    { actor: null, subject: 'user:unknown', detail: { reason: 'unknown_account' } },
    { actor: null, subject: `user:${user.id}`, detail: { reason: 'wrong_password' } },
  ])
  expect((await audit('?action=token.')).body.items).toHaveLength(2)
  expect((await audit('?actor=GRACE@example.org&action=user.signed_in')).body.items).toHaveLength(1)
  const role = (await audit('?action=user.role_changed')).body.items
  expect(role).toMatchObject([{ actor: { id: admin.user.id }, address: '127.0.0.1' }])
  expect(JSON.stringify((await audit('?limit=500')).body)).not.toContain('my secret')
})

test('it can be exported as CSV and JSON lines, filtered, with formulas escaped', async () => {
  const csv = await app.call('GET', '/api/admin/audit.csv', { token: admin.token })
  expect(csv.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': expect.stringContaining('filename="audit.csv"'),
  })
  const lines = csv.body.trimEnd().split('\r\n')
  expect(lines[0]).toBe('id,at,actor_id,actor_name,via,address,action,subject,detail')
  expect(csv.body).toContain(",'=cmd(),")
  const rows = (await app.call('GET', '/api/admin/audit.jsonl', { token: admin.token })).body
  const entries = rows
    .trimEnd()
    .split('\n')
    .map((line: string) => JSON.parse(line))
  expect(entries).toEqual((await audit('?limit=500')).body.items)
  expect(lines).toHaveLength(entries.length + 1)
  const some = await app.call('GET', '/api/admin/audit.jsonl?action=token.', { token: admin.token })
  expect(some.body.trimEnd().split('\n')).toHaveLength(2)
})

test('an export of a long log is read in parts and is complete', async () => {
  await app.sql`insert into audit_log (at, via, action, subject)
    select now(), 'operator', 'rule.tested', 'project:' || n from generate_series(1, 2500) n`
  const { body } = await app.call('GET', '/api/admin/audit.jsonl?action=rule.tested', { token: admin.token })
  const subjects = body
    .trimEnd()
    .split('\n')
    .map((line: string) => JSON.parse(line).subject)
  expect(new Set(subjects).size).toBe(2500)
  expect(subjects).toHaveLength(2500)
})
