import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { onTables } from '../../src/cli/database.ts'
import { failureLine } from '../../src/cli/failure.ts'
import { addressOf } from '../../src/db/address.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.ts'
import { PrimaryClient } from '../../src/db/hosts.ts'
import { openSql } from '../../src/db/sql.ts'

/** Both clients over TLS and over a Unix socket, against the embedded PostgreSQL with a CA that openssl makes. */
const openssl = (...args: string[]) => spawnSync('openssl', args, { encoding: 'utf8' })
const hasOpenssl = openssl('version').status === 0

if (!hasOpenssl) console.log('openssl is not installed: the tests of TLS to the database are skipped')

let folder: string
let postgres: EmbeddedPostgres
let password: string
let port: number
const file = (name: string): string => join(folder, name)

function makeCertificates(): void {
  const run = (...args: string[]): void => {
    const { status, stderr } = openssl(...args)
    if (status !== 0) throw new Error(stderr)
  }
  const authority = (name: string): void =>
    run(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.crt`),
    )
  const signed = (name: string, subject: string, extension: string): void => {
    run(
      'req',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      subject,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.csr`),
    )
    writeFileSync(file(`${name}.ext`), extension)
    run(
      'x509',
      '-req',
      '-in',
      file(`${name}.csr`),
      '-CA',
      file('ca.crt'),
      '-CAkey',
      file('ca.key'),
      '-CAcreateserial',
      '-days',
      '2',
      '-extfile',
      file(`${name}.ext`),
      '-out',
      file(`${name}.crt`),
    )
    chmodSync(file(`${name}.key`), 0o600)
  }
  authority('ca')
  authority('other')
  signed('server', '/CN=localhost', 'subjectAltName=DNS:localhost')
  signed('client', '/CN=postgres', 'extendedKeyUsage=clientAuth')
}

beforeAll(async () => {
  if (!hasOpenssl) return
  folder = mkdtempSync(join(tmpdir(), 'svc-tls-'))
  chmodSync(folder, 0o755)
  makeCertificates()
  // The account that runs PostgreSQL must own its key; only a first start says which account that is.
  const home = file('home')
  const first = await startEmbedded({ home, log: () => {} })
  const { uid, gid } = statSync(join(first.home, 'data'))
  await first.stop()
  chownSync(file('server.key'), uid, gid)
  rmSync(file('sockets'), { recursive: true, force: true })
  const sockets = mkdtempSync(file('s'))
  chownSync(sockets, uid, gid)
  chmodSync(sockets, 0o755)
  postgres = await startEmbedded({
    home,
    log: () => {},
    settings: {
      ssl: 'on',
      ssl_cert_file: file('server.crt'),
      ssl_key_file: file('server.key'),
      ssl_ca_file: file('ca.crt'),
      unix_socket_directories: sockets,
    },
  })
  const address = addressOf(postgres.url('postgres'))
  password = address.password ?? ''
  port = address.hosts[0]?.port ?? 0
  socketFolder = sockets
}, 120_000)
let socketFolder: string

afterAll(async () => {
  await postgres?.stop()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

const urlOf = (query: string, host = 'localhost'): string =>
  `postgresql://postgres:${password}@${host}:${port}/postgres?${query}`

/** How both clients are connected; the errors of both must be the same. */
async function connection(url: string): Promise<{ tls: boolean; client: string | null } | string> {
  const seen = `select ssl tls, client_dn client from pg_stat_ssl where pid = pg_backend_pid()`
  const sql = openSql(url, { name: 'test', max: 1 })
  const byPostgres = await sql.unsafe(seen).then(
    ([row]) => ({ ...row }),
    (error: Error) => failureLine(error, url),
  )
  await sql.end({ timeout: 1 })
  const client = new PrimaryClient({ connectionString: url, name: 'test' })
  client.on('error', () => {})
  const byPg = await client
    .connect()
    .then(() => client.query(seen))
    .then(
      ({ rows }) => rows[0],
      (error: Error) => failureLine(error, url),
    )
  await client.end().catch(() => {})
  expect(byPg).toEqual(byPostgres)
  return byPg
}

describe.runIf(hasOpenssl)('an address with TLS', () => {
  test.each([
    ['sslmode=disable', false],
    ['', true],
    ['sslmode=require', true],
    ['sslmode=no-verify', true],
    ['sslmode=require&channel_binding=require', true],
    ['sslmode=verify-ca&sslrootcert={ca}', true],
    ['sslmode=verify-full&sslrootcert={ca}', true],
    ['sslmode=verify-full&sslrootcert={ca}&ssl_min_protocol_version=TLSv1.3', true],
  ])('%s connects', async (query, tls) => {
    const url = urlOf(query.replace('{ca}', file('ca.crt')))
    expect(await connection(url)).toEqual({ tls, client: null })
  })

  test('verify-ca accepts another name, and a client certificate is shown', async () => {
    const query = `sslmode=verify-ca&sslrootcert=${file('ca.crt')}&sslcert=${file('client.crt')}&sslkey=${file('client.key')}`
    expect(await connection(urlOf(query, '127.0.0.1'))).toEqual({ tls: true, client: '/CN=postgres' })
  })

  test.each([
    [
      'sslmode=verify-full&sslrootcert={other}',
      'localhost',
      /is not signed by the CA in .*other\.crt.*correct sslrootcert.*SVC_DATABASE_URL/,
    ],
    ['sslmode=verify-full', 'localhost', /is not signed by an authority that is trusted.*set sslrootcert/],
    ['sslmode=require&sslrootcert={other}', 'localhost', /is not signed by the CA in/],
    ['sslmode=verify-full&sslrootcert={ca}', '127.0.0.1', /is for another name.*sslmode=verify-ca/],
    [
      'sslmode=verify-full&sslrootcert=/nowhere',
      'localhost',
      /the file of sslrootcert cannot be read: ENOENT/,
    ],
    ['sslmode=disable&channel_binding=require', 'localhost', /channel_binding is require/],
  ])('%s at %s is one line', async (query, host, wanted) => {
    const url = urlOf(
      query.replace(/\{(\w+)\}/, (_, name) => file(`${name}.crt`)),
      host,
    )
    expect(await connection(url)).toMatch(wanted)
    // Commands say the same.
    await expect(onTables(url, async () => {}).catch((error) => failureLine(error, url))).resolves.toMatch(
      wanted,
    )
  })

  test('a private key that others can read is refused', async () => {
    chmodSync(file('client.key'), 0o644)
    const query = `sslmode=require&sslcert=${file('client.crt')}&sslkey=${file('client.key')}`
    expect(await connection(urlOf(query))).toMatch(/can be read by others: chmod 600/)
    chmodSync(file('client.key'), 0o600)
  })

  test('a Unix socket, with the password from a password file', async () => {
    writeFileSync(
      file('pgpass'),
      `localhost:*:*:*:wrong\n`.replace('localhost', '/other') +
        `${socketFolder}:${port}:postgres:postgres:${password}\n`,
      { mode: 0o600 },
    )
    for (const address of [
      `postgresql://postgres@/postgres?host=${socketFolder}&port=${port}&passfile=${file('pgpass')}`,
      `postgresql://postgres@${encodeURIComponent(socketFolder)}:${port}/postgres?passfile=${file('pgpass')}`,
    ])
      expect(await connection(address)).toEqual({ tls: false, client: null })
    expect(
      await connection(`postgresql://postgres@localhost:${port}/postgres?passfile=${file('none')}`),
    ).toMatch(/asks postgres for a password, and .*none cannot be read/)
  })
})
