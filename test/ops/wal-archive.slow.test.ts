import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import S3rver from 's3rver'
import { afterAll, expect, test, vi } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { readDump } from '../../src/db/dump/file.ts'
import { decrypting } from '../../src/db/encryption.ts'
import { openArchive } from '../../src/db/wal-archive/contents.ts'
import { recover } from '../../src/db/wal-archive/recover.ts'
import { folderStore } from '../../src/db/wal-archive/store.ts'
import { type Cli, isAlive, postmasterOf, runCli } from '../cli/process.ts'
import { firstToken, openDatabase } from '../faults/server-process.ts'
import { declaration, patch, putFile } from '../files/sending-files.ts'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { debianPackage } from '../kit/debian.ts'
import { createClient } from '../kit/http.ts'

// Real processes, on a machine that may be busy with others.
vi.setConfig({ testTimeout: 580_000 })

const root = memoryFolder('svc-archive-').path
execFileSync('chmod', ['755', root]) // for the account that runs PostgreSQL
const homes: string[] = []
const running: Cli[] = []
afterAll(async () => {
  for (const cli of running) if (cli.process.exitCode === null) cli.kill('SIGKILL')
  await Promise.all(running.map((cli) => cli.ended))
  for (const home of homes) {
    const orphan = postmasterOf(home)
    if (orphan !== undefined && isAlive(orphan)) process.kill(orphan, 'SIGQUIT')
  }
  rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

function newHome(): string {
  const home = join(root, `home-${homes.length}`)
  homes.push(home)
  return home
}
function svc(home: string, settings: Record<string, string>, ...args: string[]): Cli {
  const cli = runCli(args, { SVC_DATA_DIR: home, SVC_PORT: '0', ...settings })
  running.push(cli)
  return cli
}
const said = async (cli: Cli): Promise<string> => {
  const { code, out, err } = await cli.ended
  const lines = err
    .split('\n')
    .filter((line) => !/PostgreSQL (that is already running|running: another)/.test(line))
  return `${lines.join('\n')}${out}exit ${code}`
}

/** Sends one event. @returns whether it was stored or was a repeat */
async function send(address: string, token: string, event: unknown): Promise<boolean> {
  const http = createClient(address)
  const { status, body } = await http.call('POST', '/api/events', { token, body: event })
  http.close()
  expect(status).toBe(200)
  return (body as { deduplicated: boolean }).deduplicated
}

/** The database's clock, a little after the last commit. */
async function momentAfter(): Promise<string> {
  await sleep(1_100)
  const moment = new Date().toISOString()
  await sleep(1_100)
  return moment
}

test('any moment in an archive can be restored: everything acknowledged before it is there, later events are not', async () => {
  const home = newHome()
  const archive = join(root, 'plain')
  const server = svc(home, {}, 'start')
  const address = await server.address()
  const token = await firstToken(address)
  const [first, second, third] = [
    makeEvent('batch_start'),
    makeEvent('batch_start'),
    makeEvent('batch_start'),
  ]
  await send(address, token, first)
  expect(await said(svc(home, {}, 'wal-archive', archive, '--once'))).toMatch(
    /base backup of .* MB of log\nexit 0$/,
  )
  await send(address, token, second)
  const between = await momentAfter()
  await send(address, token, third)

  // The next one brings only the log, and a follower brings it as it comes.
  const follower = svc(home, {}, 'wal-archive', archive)
  await vi.waitFor(() => expect(follower.said.err).toMatch(/archiving into/), { timeout: 60_000 })
  await vi.waitFor(
    async () =>
      expect(await said(svc(home, {}, 'wal-archive', archive, '--once'))).toMatch(
        /another svc wal-archive is writing the log of this database\nexit 1$/,
      ),
    { timeout: 60_000 },
  )
  follower.kill('SIGTERM')
  expect((await follower.ended).code).toBe(0)
  expect(readdirSync(join(archive, 'base')).filter((name) => name.endsWith('.json'))).toHaveLength(1)
  expect(await said(svc(home, {}, 'wal-archive', archive, '--once'))).toMatch(
    /no new base backup was due.*\nexit 0$/,
  )

  expect(await said(svc(newHome(), {}, 'verify', archive))).toMatch(
    /can be restored[\s\S]*\nevents 3\n[\s\S]*exit 0$/,
  )

  const other = newHome()
  expect(await said(svc(other, {}, 'restore', archive, '--at', between))).toMatch(/svc: restored .*\nexit 0$/)
  const restored = svc(other, {}, 'start')
  const there = await restored.address()
  // The token was made before the base backup; an event that is known is answered as a repeat.
  expect(await send(there, token, first)).toBe(true)
  expect(await send(there, token, second)).toBe(true)
  expect(await send(there, token, third)).toBe(false)
  restored.kill('SIGTERM')
  await restored.ended

  // Its own archive continues in the same folder, on its own timeline.
  expect(await said(svc(other, {}, 'wal-archive', archive, '--once'))).toMatch(/base backup of .*\nexit 0$/)
  expect(await said(svc(other, {}, 'restore', archive))).toMatch(/holds a database: .* --replace\nexit 1$/)
  server.kill('SIGTERM')
  await server.ended
  // Everything there is, past its end too, over a database that is given up.
  const late = await said(svc(home, {}, 'restore', archive, '--replace', '--at', '2100-01-01T00:00:00Z'))
  expect(late).toMatch(/the archive ends before 2100-01-01/)
  expect(late).toMatch(/the database that was there is now .*data\.replaced-/)
  expect(late).toMatch(/exit 0$/)
  // Each keeps what was there, also within one second.
  const plain = await openArchive(folderStore(archive), { passphrase: undefined, make: false })
  const [at, now, signal] = [undefined, new Date(), new AbortController().signal]
  const options = { archive: plain, home, at, now, signal, replace: true, log: () => {}, progress: () => {} }
  const kept = [(await recover(options)).aside, (await recover(options)).aside]
  expect(new Set(kept.map((path) => existsSync(path!) && path)).size).toBe(2)
  expect(await said(svc(newHome(), {}, 'restore', archive, '--at', '2020-01-01T00:00:00Z'))).toMatch(
    /the archive begins at .* it cannot restore an earlier moment\nexit 1$/,
  )

  // What is damaged is refused, and the data folder is as it was.
  for (const segment of readdirSync(join(archive, 'wal'))) {
    const bytes = readFileSync(join(archive, 'wal', segment))
    // Its checksum: another bit may change nothing, such as a distance within a run of zeros.
    bytes.writeUInt32LE((bytes.readUInt32LE(bytes.length - 8) ^ 1) >>> 0, bytes.length - 8)
    writeFileSync(join(archive, 'wal', segment), bytes)
  }
  const empty = newHome()
  expect(await said(svc(empty, {}, 'restore', archive))).toMatch(/is truncated or was altered\nexit 1$/)
  expect(readdirSync(empty).filter((name) => /data|restoring/.test(name))).toEqual([])
})

test('with a passphrase nothing in an archive or a backup is readable without it, and `age` can decrypt it', async () => {
  const home = newHome()
  const passphrase = { SVC_BACKUP_PASSPHRASE: 'correct horse battery staple' }
  const server = svc(home, {}, 'start')
  await firstToken(await server.address())
  const archive = join(root, 'sealed')
  const file = join(root, 'sealed.svc')
  expect(await said(svc(home, passphrase, 'wal-archive', archive, '--once'))).toMatch(/exit 0$/)
  expect(await said(svc(home, passphrase, 'backup', file))).toMatch(/exit 0$/)

  for (const path of [file, archive])
    expect(await said(svc(newHome(), passphrase, 'verify', path))).toMatch(/\nusers 1\n[\s\S]*exit 0$/)
  expect(await said(svc(newHome(), {}, 'verify', archive))).toMatch(
    /is encrypted: SVC_BACKUP_PASSPHRASE is to hold its passphrase\nexit 1$/,
  )
  const open = (secret: string | undefined) => [
    () => openArchive(folderStore(archive), { passphrase: secret, make: true }),
    () => readDump(file, { progress: () => {} }, secret),
  ]
  for (const one of open(undefined))
    await expect(one()).rejects.toThrow(/is encrypted: SVC_BACKUP_PASSPHRASE/)
  for (const one of open('another passphrase'))
    await expect(one()).rejects.toThrow(/the passphrase is not that of/)
  const altered = readFileSync(file)
  altered[altered.length - 20] = (altered[altered.length - 20] as number) ^ 1
  writeFileSync(`${file}.bad`, altered)
  await expect(
    readDump(`${file}.bad`, { progress: () => {} }, passphrase.SVC_BACKUP_PASSPHRASE),
  ).rejects.toThrow(/truncated or was altered/)

  // The real `age` opens the archive with its key. (It asks for a passphrase on a terminal only.)
  const chunks: Buffer[] = []
  for await (const chunk of decrypting({ passphrase: passphrase.SVC_BACKUP_PASSPHRASE })(
    createReadStream(join(archive, 'key.age')),
  ))
    chunks.push(chunk)
  const key = join(root, 'key.txt')
  writeFileSync(key, Buffer.concat(chunks))
  const age = join(await debianPackage('age'), 'usr/bin/age')
  const [tar] = readdirSync(join(archive, 'base')).filter((name) => name.endsWith('.tar.gz.age'))
  const opened = spawnSync(age, ['-d', '-i', key, join(archive, 'base', tar as string)], { maxBuffer: 1e9 })
  expect(opened.status, opened.stderr.toString()).toBe(0)
  const listed = execFileSync('tar', ['-tz'], { input: opened.stdout, encoding: 'utf8' })
  expect(listed).toContain('PG_VERSION')
  expect(readdirSync(join(archive, 'wal')).every((name) => name.endsWith('.age'))).toBe(true)
})

test('an encrypted archive on an S3 API is written, verified and restored like one in a folder', async () => {
  const s3 = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: join(root, 's3'),
    configureBuckets: [{ name: 'backups', configs: [] }],
  })
  const { port } = (await s3.run()) as AddressInfo
  const settings = {
    SVC_BACKUP_PASSPHRASE: 'correct horse battery staple',
    SVC_ARCHIVE_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    SVC_ARCHIVE_S3_ACCESS_KEY_ID: 'S3RVER',
    SVC_ARCHIVE_S3_SECRET_ACCESS_KEY: 'S3RVER',
  }
  const place = 's3://backups/of/lab'
  try {
    const home = newHome()
    const server = svc(home, {}, 'start')
    const address = await server.address()
    const token = await firstToken(address)
    const [first, second] = [makeEvent('batch_start'), makeEvent('batch_start')]
    await send(address, token, first)
    expect(await said(svc(home, settings, 'wal-archive', place, '--once'))).toMatch(
      /base backup of .*\nexit 0$/,
    )
    await send(address, token, second)
    expect(await said(svc(home, settings, 'wal-archive', place, '--once'))).toMatch(
      /s3:\/\/backups\/of\/lab is up to date: no new base backup was due.*\nexit 0$/,
    )
    expect(await said(svc(newHome(), settings, 'verify', place))).toMatch(/\nevents 2\n[\s\S]*exit 0$/)
    const { SVC_BACKUP_PASSPHRASE: _, ...without } = settings
    expect(await said(svc(newHome(), without, 'verify', place))).toMatch(
      /the archive s3:\/\/backups\/of\/lab is encrypted: SVC_BACKUP_PASSPHRASE is to hold its passphrase\nexit 1$/,
    )
    const other = newHome()
    expect(await said(svc(other, settings, 'restore', place))).toMatch(/svc: restored .*\nexit 0$/)
    const restored = svc(other, {}, 'start')
    const there = await restored.address()
    expect(await send(there, token, first)).toBe(true)
    expect(await send(there, token, second)).toBe(true)
    for (const one of [restored, server]) {
      one.kill('SIGTERM')
      await one.ended
    }
    const none = await said(svc(newHome(), settings, 'verify', 's3://nowhere/lab'))
    expect(none).toMatch(/svc: s3:\/\/nowhere\/lab: .*bucket does not exist\nexit 1$/)
    expect(none).not.toContain('AWS SDK')
  } finally {
    await s3.close()
  }
})

test('WAL that the server has removed causes a new base backup, and old ones are removed with their WAL', async () => {
  const home = newHome()
  const archive = join(root, 'holes')
  const server = svc(home, {}, 'start')
  await server.address()
  const always = ['wal-archive', archive, '--once', '--base-every', '0', '--keep', '1']
  expect(await said(svc(home, {}, ...always))).toMatch(/exit 0$/)
  const password = readFileSync(join(home, 'data/svc.password'), 'utf8')
  const port = readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[3]
  const client = new Client({
    connectionString: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`,
  })
  await client.connect()
  const [before] = readdirSync(join(archive, 'wal'))
  await client.query("select pg_drop_replication_slot('svc_archive')")
  for (let i = 0; i < 3; i++)
    await client.query('select pg_logical_emit_message(true, $1, $1), pg_switch_wal()', ['x'])
  await client.query('checkpoint')
  await client.end()
  expect(await said(svc(home, {}, 'wal-archive', archive, '--once'))).toMatch(
    /begins with a new base backup\n[\s\S]*base backup of .*\nexit 0$/,
  )
  // What was left by base backups that were killed: before the description was written, two days ago, and just now.
  const inBase = (name: string): string => join(archive, 'base', name)
  const killed = ['20260101T000000Z-1.tar.gz', '20260102T000000Z-2.tar.gz.partial-1', 'now.tar.gz.partial-2']
  for (const name of killed) writeFileSync(inBase(name), 'part')
  const days = new Date(Date.now() - 48 * 3_600_000)
  utimesSync(inBase('20260102T000000Z-2.tar.gz.partial-1'), days, days)
  expect(await said(svc(home, {}, ...always))).toMatch(/removed 2 base backups and \d+ segments/)
  const kept = readdirSync(join(archive, 'base'))
  expect(kept.filter((name) => killed.includes(name))).toEqual(['now.tar.gz.partial-2'])
  expect(kept).toHaveLength(3)
  expect(readdirSync(join(archive, 'wal'))).not.toContain(before)
  expect(await said(svc(newHome(), {}, 'verify', archive))).toMatch(/exit 0$/)
  expect(existsSync(join(archive, 'key.age'))).toBe(false)
})

test('files that were deleted after the restored moment come back from a copy, and later ones are kept aside', async () => {
  const home = newHome()
  const archive = join(root, 'files')
  const [settings, copy] = [{ SVC_FILES_KEEP_FREE_BYTES: '0' }, join(root, 'files-copy')]
  let server = svc(home, settings, 'start')
  let address = await server.address()
  const token = await firstToken(address)
  const http = createClient(address)
  const { body: account } = await http.call('POST', '/api/auth/login', {
    body: { email: 'person@example.org', password: PASSWORD },
  })
  await send(address, token, makeEvent('batch_start', { batch_id: 'runs' }))
  const to = { token, batch: 'runs' }
  await putFile({ call: http.call }, to, 'early.bin', 'early')
  // One that has begun to arrive.
  const late = { files: [declaration('late.bin', 'arrives late')] }
  const declared = await http.call('POST', '/api/batches/runs/files', { token, body: late })
  await patch({ call: http.call }, token, declared.body.items[0].upload_url, 0, 'arrives')
  cpSync(join(home, 'files'), copy, { recursive: true })
  expect(await said(svc(home, settings, 'wal-archive', archive, '--once'))).toMatch(/exit 0$/)
  const moment = await momentAfter()

  expect(await putFile({ call: http.call }, to, 'later.bin', 'later')).toMatchObject({ state: 'missing' })
  await patch({ call: http.call }, token, declared.body.items[0].upload_url, 7, ' late')
  await http.call('DELETE', '/api/batches/runs/files/early.bin', { token: account.token })
  const sql = openDatabase(home)
  for (let i = 0; i < 2; i++) {
    expect(await said(svc(home, settings, 'sweep'))).toMatch(/exit 0$/)
    await sql`update contents set unreferenced_since = unreferenced_since - interval '2 days'`
  }
  expect(await said(svc(home, settings, 'sweep'))).toMatch(/exit 0$/)
  expect(await sql`select from contents`).toHaveLength(2)
  await sql.end()
  expect(await said(svc(home, settings, 'wal-archive', archive, '--once'))).toMatch(/exit 0$/)
  http.close()
  server.kill('SIGTERM')
  await server.ended

  const restore = (...more: string[]) =>
    said(svc(home, settings, 'restore', archive, '--replace', '--at', moment, ...more))
  const without = await restore()
  expect(without).toMatch(/1 of 1 contents of files were deleted since and are missing/)
  expect(without).toMatch(/2 objects in the store of files arrived later[\s\S]*exit 0$/)
  const away = svc(home, { ...settings, SVC_FILES: '/dev/null/files' }, 'restore', archive, '--replace')
  expect(await said(away)).toMatch(/the store of files cannot be used: [\s\S]*svc doctor[\s\S]*exit 0$/)
  const whole = await restore('--files', copy)
  expect(whole).toMatch(/copied 1 files from /)
  expect(whole).not.toMatch(/are missing/)

  server = svc(home, settings, 'start')
  address = await server.address()
  const again = createClient(address)
  const read = async (path: string) => {
    const { status, body } = await again.call('GET', `/api/batches/runs/files/${path}`, {
      token: account.token,
    })
    return status === 200 ? String(body) : status
  }
  expect([await read('early.bin'), await read('later.bin'), await read('late.bin')]).toEqual([
    'early',
    404,
    404,
  ])
  // Their senders declare them again; the upload that had begun starts from its first byte.
  for (const [path, bytes] of [
    ['later.bin', 'later'],
    ['late.bin', 'arrives late'],
  ] as const) {
    expect(await putFile({ call: again.call }, to, path, bytes)).toMatchObject({ state: 'missing' })
    expect(await read(path)).toBe(bytes)
  }
  again.close()
  server.kill('SIGTERM')
  await server.ended
})
