import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runBackup } from '../../src/cli/backup.ts'
import { examine } from '../../src/cli/checks.ts'
import { failureLine } from '../../src/cli/failure.ts'
import type { Finding } from '../../src/cli/finding.ts'
import { memoryFinding } from '../../src/cli/memory-check.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { openMailbox } from '../notifications/mailbox.ts'

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await freshDatabase()
  app = await startTestApp({ databaseUrl: database.url })
})
afterAll(async () => {
  await app?.stop()
  await database?.drop()
})

/** What the doctor finds, by subject, with these settings and otherwise those of the app. */
async function examined(
  settings: Record<string, string> = {},
  mailTo?: string,
): Promise<Record<string, Finding[]>> {
  const { config, warnings } = readConfig({ SVC_DATABASE_URL: database.url, ...settings })
  return collect(config, warnings, mailTo)
}
async function collect(config: Config, warnings: string[] = [], mailTo?: string) {
  const found: Record<string, Finding[]> = {}
  for await (const finding of examine(config, { warnings, mailTo }))
    found[finding.subject] = [...(found[finding.subject] ?? []), finding]
  return found
}
const states = (found: Record<string, Finding[]>, subject: string) =>
  found[subject]?.map(({ state }) => state)

test('a reachable, migrated database with the right time is fine; without accounts the first step is shown', async () => {
  const found = await examined()
  expect(found.database).toEqual([
    {
      state: 'ok',
      subject: 'database',
      text: expect.stringMatching(/^PostgreSQL 1\d\.\d+, \d+ MB, with the tables/),
    },
  ])
  expect(states(found, 'clock')).toEqual(['ok'])
  expect(states(found, 'memory')).toEqual(['ok'])
  expect(found.disk).toBe(undefined)
  expect(found.accounts?.[0]).toMatchObject({
    state: 'warning',
    advice: expect.stringContaining('svc user create'),
  })
  const admin = await app.register('admin@example.org')
  expect(states(await examined(), 'accounts')).toEqual(['ok'])
  await database.sql`update users set disabled_at = now() where id = ${admin.user.id}`
  expect((await examined()).accounts?.[0]).toMatchObject({
    state: 'failure',
    advice: expect.stringContaining('svc user make-admin'),
  })
  await database.sql`update users set disabled_at = null`
})

test('an unreachable database fails without its password in the output', async () => {
  const found = await examined({ SVC_DATABASE_URL: 'postgresql://svc:very-secret@127.0.0.1:9/svc' })
  expect(found.database?.[0]).toMatchObject({
    state: 'failure',
    text: expect.stringContaining('127.0.0.1:9'),
  })
  expect(JSON.stringify(found)).not.toContain('very-secret')
})

test('an unknown setting is shown by name', async () => {
  expect((await examined({ SVC_PROT: '8080' })).settings?.[0]?.text).toContain('SVC_PROT')
})

test('an address without its scheme is refused with an example of a right one', () => {
  expect(() => readConfig({ SVC_PUBLIC_URL: 'monitor.example.org' })).toThrow(
    'SVC_PUBLIC_URL is not valid: must be an address such as https://monitor.example.org',
  )
  expect(() => readConfig({ SVC_SMTP_URL: 'mail.example.org:587' })).toThrow(
    'must be an address such as smtp://mail.example.org:587',
  )
})

test('an account that may not create tables is one line at the start, and its connection limit is named', async () => {
  const own = await freshDatabase()
  const role = `svc_${randomBytes(6).toString('hex')}`
  const url = new URL(own.url)
  url.username = role
  url.password = 'of-this-test'
  try {
    await own.sql.unsafe(`create role ${role} login password 'of-this-test'`)
    const failed: unknown = await startTestApp({ databaseUrl: url.href }).catch((error: unknown) => error)
    expect(failureLine(failed, url.href)).toMatch(
      /permission denied for .*grant it create on the database and on its schema$/,
    )
    await own.sql.unsafe(`alter role ${role} connection limit 0`)
    expect((await examined({ SVC_DATABASE_URL: url.href })).database?.[0]).toMatchObject({
      state: 'failure',
      advice: expect.stringContaining('raise max_connections'),
    })
  } finally {
    await own.sql.unsafe(`drop role ${role}`)
    await own.drop()
  }
})

test('a database with another encoding than UTF-8 is warned of', async () => {
  const name = `latin_${randomBytes(6).toString('hex')}`
  await database.sql.unsafe(`create database ${name} template template0 encoding 'LATIN1' locale 'C'`)
  const url = new URL(database.url)
  url.pathname = `/${name}`
  try {
    expect((await examined({ SVC_DATABASE_URL: url.href })).database).toContainEqual(
      expect.objectContaining({ state: 'warning', text: expect.stringContaining('its encoding is LATIN1') }),
    )
  } finally {
    await database.sql.unsafe(`drop database ${name} with (force)`)
  }
})

test.each([
  'postgresql://svc:pa#ss@db.internal/svc',
  'postgresql://svc:pa/ss@db.internal/svc',
  'postgresql://svc:pa?ss@db.internal/svc',
  'postgresql://svc:50%@db.internal/svc',
  'postgresql://svc:p@ss/word@db.internal/svc',
])('a password that is not percent-encoded is refused, and not printed: %s', (url) => {
  for (const name of ['SVC_DATABASE_URL', 'SVC_SMTP_URL']) {
    const value = name === 'SVC_SMTP_URL' ? url.replace('postgresql', 'smtp') : url
    expect(() => readConfig({ [name]: value })).toThrow(
      /^SVC_\w+ is not valid: [^:]*percent-encoded: @ as %40[^:]*$/,
    )
  }
})

test.each([
  'postgresql://svc:p@ss@db.internal/svc',
  'postgresql://svc:p%40ss%2Fword@db1:5432,db2:5433/svc?target_session_attrs=read-write',
  'postgresql:///svc?host=/var/run/postgresql',
  'postgresql://db.internal/svc?user=svc@lab&sslmode=verify-full',
])('other addresses of databases are accepted: %s', (url) => {
  expect(readConfig({ SVC_DATABASE_URL: url }).config.databaseUrl).toBe(url)
})

test('without a database in the data folder doctor and backup say so, and create none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'))
  try {
    const dataDir = join(folder, 'mistyped')
    const { config } = readConfig({ SVC_DATA_DIR: dataDir })
    expect((await collect(config)).database).toEqual([
      {
        state: 'failure',
        subject: 'database',
        text: `there is none in ${dataDir}`,
        advice: expect.stringContaining('SVC_DATA_DIR'),
      },
    ])
    const fault = await runBackup(join(folder, 'all.svc'), config).catch((error: unknown) => error)
    expect(failureLine(fault, undefined)).toContain(`there is no database in ${dataDir}`)
    expect(existsSync(dataDir)).toBe(false)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a backup into a folder that does not exist fails with one line about that folder', async () => {
  const { config } = readConfig({ SVC_DATABASE_URL: database.url })
  const fault = await runBackup('/nowhere/all.svc', config).catch((error: unknown) => error)
  expect(failureLine(fault, database.url)).toMatch(/^ENOENT: no such file or directory, open '\/nowhere\/all/)
})

test('the mail server is checked with a sign-in, and with a test mail on request', async () => {
  expect(states(await examined(), 'mail')).toEqual(['warning'])
  const mailbox = await openMailbox({ password: 'right one' })
  const { host } = new URL(mailbox.url)
  try {
    const url = `smtp://monitor:right%20one@${host}`
    expect(states(await examined({ SVC_SMTP_URL: url }), 'mail')).toEqual(['ok'])
    const sent = await examined({ SVC_SMTP_URL: url, SVC_SMTP_FROM: 'svc@example.org' }, 'ada@example.org')
    expect(sent.mail?.[0]).toMatchObject({ state: 'ok', text: expect.stringContaining('ada@example.org') })
    const mails = [...mailbox.received, ...mailbox.aboutAccounts]
    expect(mails.map(({ to, mail }) => [to, mail.subject])).toEqual([
      [['ada@example.org'], 'Test mail of the experiment monitor'],
    ])
    const refused = await examined({ SVC_SMTP_URL: `smtp://monitor:wrong@${host}` })
    expect(refused.mail?.[0]).toMatchObject({
      state: 'failure',
      advice: expect.stringContaining('SVC_SMTP_URL'),
    })
    expect(JSON.stringify(refused)).not.toContain('wrong@')
  } finally {
    await mailbox.stop()
  }
})

test('an archive that cannot be written to fails, also while nothing is archived', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'))
  const s3 = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'runs', configs: [] }],
  })
  const { port } = (await s3.run()) as AddressInfo
  const archive = async (url: string) => {
    const found = await examined({
      SVC_ARCHIVE_URL: url,
      SVC_ARCHIVE_AFTER_DAYS: '8',
      SVC_ARCHIVE_S3_ENDPOINT: `http://127.0.0.1:${port}`,
      SVC_ARCHIVE_S3_ACCESS_KEY_ID: 'S3RVER',
      SVC_ARCHIVE_S3_SECRET_ACCESS_KEY: 'S3RVER',
    })
    return found.archive?.[0]
  }
  try {
    expect(await archive('s3://runs/lab')).toMatchObject({ state: 'ok' })
    expect(await archive('s3://mistyped/lab')).toMatchObject({
      state: 'failure',
      text: expect.stringContaining('bucket'),
    })
    expect(await archive(`file://${folder}/new/archive`)).toMatchObject({ state: 'ok' })
    expect(existsSync(join(folder, 'new'))).toBe(false)
    expect(await archive('file:///dev/null/archive')).toMatchObject({ state: 'failure' })
  } finally {
    await s3.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the public URL is checked: it leads to the service, to another one, or nowhere', async () => {
  expect((await examined({ SVC_PUBLIC_URL: app.address }))['public URL']?.at(-1)).toMatchObject({
    // It is asked from this machine and without a proxy, so /metrics is open.
    state: 'warning',
    text: expect.stringContaining('/metrics'),
  })
  const other = createServer((request, response) => {
    response.writeHead(request.url === '/livez' ? 200 : 404).end('something else')
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  expect((await examined({ SVC_PUBLIC_URL: url }))['public URL']?.at(-1)).toMatchObject({
    state: 'failure',
    text: `${url}/readyz answers 404`,
  })
  await new Promise((resolve) => other.close(resolve))
  expect((await examined({ SVC_PUBLIC_URL: url }))['public URL']?.at(-1)).toMatchObject({
    state: 'failure',
    text: expect.stringContaining('ECONNREFUSED'),
  })
  // No certificate was seen, so none is to be renewed.
  expect((await examined({ SVC_PUBLIC_URL: 'https://127.0.0.1:9' })).TLS).toMatchObject([
    { state: 'failure', advice: expect.stringContaining('the proxy listens there') },
  ])
})

test('a proxy that is not trusted, a port open to others, and open registration are reported', async () => {
  const behind = await examined({ SVC_PUBLIC_URL: 'https://127.0.0.1:9', SVC_REGISTRATION: 'closed' })
  expect(behind.proxy?.[0]?.advice).toContain('SVC_TRUST_PROXY=true')
  expect(states(behind, 'registration')).toEqual(['ok'])
  const open = await examined({ SVC_HOST: '0.0.0.0', SVC_TRUST_PROXY: 'true' })
  expect(open.proxy?.[0]?.advice).toContain('Let only the proxy reach the port')
  expect(open.registration?.[0]?.advice).toContain('SVC_REGISTRATION=closed')
  expect(states(open, 'public URL')).toEqual(['warning'])
})

test('the disk of the embedded database is checked, and an unusable folder fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'))
  try {
    const { config } = readConfig({ SVC_DATA_DIR: join(folder, 'data') })
    const disk = async (dataDir: string) => {
      for await (const finding of examine({ ...config, dataDir }, { warnings: [], mailTo: undefined }))
        if (finding.subject === 'disk') return finding
      return undefined
    }
    expect((await disk(join(folder, 'data')))?.text).toMatch(/GiB free of .* under /)
    expect(await disk('/dev/null/data')).toMatchObject({
      state: 'failure',
      advice: expect.stringContaining('SVC_DATA_DIR'),
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test.each([
  [250, false, 'warning'],
  [350, false, 'ok'],
  [350, true, 'warning'],
  [800, true, 'ok'],
])('%s MiB of memory, with the embedded PostgreSQL %s: %s', (mib, embedded, state) => {
  expect(memoryFinding(mib * 2 ** 20, embedded)).toMatchObject({ subject: 'memory', state })
})
