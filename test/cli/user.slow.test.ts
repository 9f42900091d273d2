import { rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { createProgram } from '../../src/cli/program.ts'
import type { Config } from '../../src/config.ts'
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
  await run(['user', ...args], app.config, typed)
  return said
}
async function run(args: string[], config: Config, typed = ''): Promise<void> {
  vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
  const settings = () => ({ config, warnings: [] })
  await createProgram({ settings, environment: {}, input: Readable.from([typed]) }).parseAsync(args, {
    from: 'user',
  })
}
const login = async (email: string, password: string) =>
  (await app.call('POST', '/api/auth/login', { body: { email, password } })).status
const status = async (token: string) => (await app.call('GET', '/api/auth/me', { token })).status
const auditOf = async (id: string) =>
  (await app.call('GET', `/api/admin/audit?subject=user:${id}`, { token: admin.token })).body.items

test('the list has all accounts with their role and state', async () => {
  await app.register('listed@example.org')
  const { out } = await user(['list'])
  const lines = out.trimEnd().split('\n')
  expect(lines[0]).toMatch(/^ADDRESS +NAME +ROLE +STATE +SINCE$/)
  expect(lines).toContainEqual(
    expect.stringMatching(/^listed@example\.org +listed +user +active +\d{4}-\d\d-\d\d$/),
  )
  expect(lines).toContainEqual(expect.stringMatching(/^first@example\.org +first +admin +active /))
})

test('a generated password is printed alone on standard output, signs in, and ends open sessions', async () => {
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

test('a password from standard input is read without its newline, and not shown', async () => {
  await app.register('given@example.org')
  const { out } = await user(['reset-password', 'given@example.org', '--stdin'], 'words of my own\n')
  expect(out).toBe('')
  expect(await login('given@example.org', 'words of my own')).toBe(200)
  await expect(user(['reset-password', 'given@example.org', '--stdin'], 'short\n')).rejects.toThrow(
    '8 to 1,024',
  )
  expect(await login('given@example.org', 'words of my own')).toBe(200)
})

test('the administrator role can be given and taken away, except from the last administrator', async () => {
  const { user: person } = await app.register('promoted@example.org')
  const role = async () => {
    const { items } = (await app.call('GET', '/api/admin/users', { token: admin.token })).body
    return items.find((one: { id: string }) => one.id === person.id).role
  }
  expect((await user(['make-admin', 'promoted@example.org'])).err).toContain('is an administrator')
  expect(await role()).toBe('admin')
  await user(['unmake-admin', 'promoted@example.org'])
  expect(await role()).toBe('user')
  await expect(user(['unmake-admin', 'first@example.org'])).rejects.toThrow('one administrator must remain')
  await expect(user(['disable', 'first@example.org'])).rejects.toThrow('one administrator must remain')
  const actions = (await auditOf(person.id)).map((entry: { action: string }) => entry.action)
  expect(actions.filter((action: string) => action === 'user.role_changed')).toHaveLength(2)
})

test('a disabled account is refused at once by the running server, and works again when enabled', async () => {
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
  [['promote', 'first@example.org'], "unknown command 'promote'"],
  [['make-admin'], "missing required argument 'email'"],
  [['make-admin', 'first@example.org', 'second@example.org'], 'too many arguments'],
  [['reset-password', 'first@example.org', '--password=hidden'], "unknown option '--password=hidden'"],
  [['list', '--all'], "unknown option '--all'"],
  [['create', 'unknown'], 'unknown is not an e-mail address'],
  [['create', 'First@example.org'], 'An account with that address exists'],
  [['disable', 'unknown@example.org'], 'no account has the address unknown@example.org'],
])('%j is refused, with the valid commands', async (args, line) => {
  await expect(user(args)).rejects.toThrow(line)
})

test('an account and its token are made, listed and revoked from a shell', async () => {
  const { out: password, err } = await user(['create', 'script@example.org'])
  expect(err).toContain('script@example.org has an account')
  expect(await login('script@example.org', password.trim())).toBe(200)
  const made = await user(
    ['create', 'second-admin@example.org', '--admin', '--stdin'],
    'correct horse battery\n',
  )
  expect(made).toMatchObject({ out: '', err: expect.stringContaining('is an administrator') })

  const token = async (...args: string[]) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    vi.spyOn(console, 'error').mockImplementation(() => {})
    log.mockClear()
    await run(['token', ...args], app.config)
    return log.mock.calls.map(([line]) => String(line))
  }
  const [text] = await token('create', 'script@example.org', '--name', 'cluster', '--scope', 'read')
  expect(text).toMatch(/^em_read_/)
  expect(await status(text as string)).toBe(200)
  const [head, row] = await token('list', 'script@example.org')
  expect(head).toMatch(/^ID +NAME +SCOPE/)
  expect(row).toMatch(/^[0-9a-f-]{36} +cluster +read +\S{4} +\d{4}-/)
  await token('revoke', 'script@example.org', row?.split(' ')[0] as string)
  expect(await status(text as string)).toBe(401)
  await expect(token('create', 'script@example.org', '--scope', 'admin')).rejects.toThrow(
    'Allowed choices are reporter, read',
  )
})

test('a database without the tables of the service is not changed', async () => {
  const [name] = await database.sql<{ name: string }[]>`select current_database() || '_empty' as name`
  await database.sql.unsafe(`create database ${name?.name}`)
  const url = new URL(database.url)
  url.pathname = `/${name?.name}`
  const empty = { ...app.config, databaseUrl: url.href }
  await expect(run(['user', 'list'], empty)).rejects.toThrow('start the service first')
  await database.sql.unsafe(`drop database ${name?.name} with (force)`)
})

test('it works with the embedded database, with and without a running server', async () => {
  const home = memoryFolder('svc-user-').path
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
    expect(wrong.err).toContain('svc: At least one administrator must remain\n')
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
