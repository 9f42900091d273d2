import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { runUser } from '../../src/cli/user.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { isAlive, postmasterOf, runCli } from './process.ts'

// Each test that starts real processes does so on a machine that may be busy with others.
vi.setConfig({ testTimeout: 240_000 })

let database: TestDatabase
let app: TestApp
let admin: { token: string }
beforeAll(async () => {
  database = await freshDatabase()
  app = await startTestApp({ databaseUrl: database.url })
  admin = await app.register('first@example.org')
})
afterAll(async () => {
  await app?.stop()
  await database?.drop()
})
afterEach(() => void vi.restoreAllMocks())

/** Runs the command over the database of the app, which goes on serving. */
async function user(args: string[], typed = '') {
  const said = { out: '', err: '' }
  vi.spyOn(console, 'log').mockImplementation((line) => {
    said.out += `${line}\n`
  })
  vi.spyOn(console, 'error').mockImplementation((line) => {
    said.err += `${line}\n`
  })
  await runUser(args, app.config, Readable.from([typed]))
  return said
}
const login = async (email: string, password: string) =>
  (await app.call('POST', '/api/auth/login', { body: { email, password } })).status
const status = async (token: string) => (await app.call('GET', '/api/auth/me', { token })).status
const auditOf = async (id: string) =>
  (await app.call('GET', `/api/admin/audit?subject=user:${id}`, { token: admin.token })).body.items

test('the list names everybody, what they are and whether they may come in', async () => {
  await app.register('listed@example.org')
  const { out } = await user(['list'])
  const lines = out.trimEnd().split('\n')
  expect(lines[0]).toMatch(/^ADDRESS +NAME +ROLE +STATE +SINCE$/)
  expect(lines).toContainEqual(
    expect.stringMatching(/^listed@example\.org +listed +user +active +\d{4}-\d\d-\d\d$/),
  )
  expect(lines).toContainEqual(expect.stringMatching(/^first@example\.org +first +admin +active /))
})

test('a password that is made up stands alone on standard output, opens the account, and closes what was open', async () => {
  const { token, user: person } = await app.register('forgetful@example.org')
  const reporter = await app.reporterToken(token)
  const { out, err } = await user(['reset-password', 'Forgetful@example.org'])
  expect(out).toMatch(/^[\w-]{20}\n$/)
  expect(err).toContain('forgetful@example.org has a new password')
  expect(err).not.toContain(out.trim())
  expect(await login('forgetful@example.org', 'correct horse battery')).toBe(401)
  expect(await login('forgetful@example.org', out.trim())).toBe(200)
  expect(await status(token)).toBe(401)
  expect((await app.call('GET', '/api/batches/none/stop-requested', { token: reporter })).status).toBe(404)
  const resets = (await auditOf(person.id)).filter(
    ({ action }: { action: string }) => action === 'user.password_reset',
  )
  expect(resets).toMatchObject([{ action: 'user.password_reset', via: 'operator', actor: null, detail: {} }])
})

test('a password from standard input is taken without its end of line, and not shown', async () => {
  await app.register('given@example.org')
  const { out } = await user(['reset-password', 'given@example.org', '--stdin'], 'words of my own\n')
  expect(out).toBe('')
  expect(await login('given@example.org', 'words of my own')).toBe(200)
  await expect(user(['reset-password', 'given@example.org', '--stdin'], 'short\n')).rejects.toThrow(
    '8 to 1,024',
  )
  expect(await login('given@example.org', 'words of my own')).toBe(200)
})

test('administrators are made and unmade, but the last one stays', async () => {
  const { user: person } = await app.register('promoted@example.org')
  const role = async () => {
    const { items } = (await app.call('GET', '/api/admin/users', { token: admin.token })).body
    return items.find((one: { id: string }) => one.id === person.id).role
  }
  expect((await user(['make-admin', 'promoted@example.org'])).err).toContain('is an administrator')
  expect(await role()).toBe('admin')
  await user(['unmake-admin', 'promoted@example.org'])
  expect(await role()).toBe('user')
  await expect(user(['unmake-admin', 'first@example.org'])).rejects.toThrow('last administrator must stay')
  await expect(user(['disable', 'first@example.org'])).rejects.toThrow('last administrator must stay')
  const actions = (await auditOf(person.id)).map((entry: { action: string }) => entry.action)
  expect(actions.filter((action: string) => action === 'user.role_changed')).toHaveLength(2)
})

test('a disabled account is out at once, at the server that runs, and comes back when enabled', async () => {
  const { token } = await app.register('leaving@example.org')
  expect(await status(token)).toBe(200)
  await user(['disable', 'leaving@example.org'])
  expect(await status(token)).toBe(401)
  expect(await login('leaving@example.org', 'correct horse battery')).toBe(403)
  const { out, err } = await user(['reset-password', 'leaving@example.org'])
  expect(err).toContain('the account is disabled')
  await user(['enable', 'leaving@example.org'])
  expect(await login('leaving@example.org', out.trim())).toBe(200)
})

test.each([
  [[], 'say what to do'],
  [['promote', 'first@example.org'], 'say what to do'],
  [['make-admin'], 'say what to do'],
  [['make-admin', 'first@example.org', 'second@example.org'], 'say what to do'],
  [['reset-password', 'first@example.org', '--password=hidden'], 'say what to do'],
  [['list', '--all'], 'say what to do'],
  [['disable', 'nobody@example.org'], 'nobody has the address nobody@example.org'],
])('%j is refused, with what may be asked for', async (args, line) => {
  await expect(user(args)).rejects.toThrow(line)
})

test('a database without our tables is left alone', async () => {
  const [name] = await database.sql<{ name: string }[]>`select current_database() || '_empty' as name`
  await database.sql.unsafe(`create database ${name?.name}`)
  const url = new URL(database.url)
  url.pathname = `/${name?.name}`
  const empty = { ...app.config, databaseUrl: url.href }
  await expect(runUser(['list'], empty, Readable.from(['']))).rejects.toThrow('start the service first')
  await database.sql.unsafe(`drop database ${name?.name} with (force)`)
})

test('it works over the embedded database, beside the server that runs it and without one', async () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-user-'))
  const settings = { SVC_DATA_DIR: home, SVC_PORT: '0' }
  const server = runCli(['start'], settings)
  try {
    const address = await server.address()
    const post = (path: string, password: string) =>
      fetch(`${address}/api/auth/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'you@example.com', password }),
      })
    expect((await post('register', 'at least 8 characters')).status).toBe(201)
    const reset = await runCli(['user', 'reset-password', 'you@example.com'], settings).ended
    expect(reset.code).toBe(0)
    expect((await post('login', reset.out.trim())).status).toBe(200)
    const wrong = await runCli(['user', 'disable', 'you@example.com'], settings).ended
    expect(wrong.code).toBe(1)
    expect(wrong.err).toContain('svc: The last administrator must stay\n')
    server.kill('SIGTERM')
    await server.ended
    const list = await runCli(['user', 'list'], settings).ended
    expect(list.out).toMatch(/^you@example\.com +you +admin +active /m)
    expect(postmasterOf(home)).toBeUndefined()
  } finally {
    server.kill('SIGKILL')
    const orphan = postmasterOf(home)
    if (orphan !== undefined && isAlive(orphan)) process.kill(orphan, 'SIGQUIT')
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
})
