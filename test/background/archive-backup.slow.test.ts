import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  checkArchived,
  copyFromWalArchive,
  copyToWalArchive,
  openArchivedObjects,
  readerOfWalArchive,
} from '../../src/cli/archived-objects.ts'
import { readConfig } from '../../src/config.ts'
import { backup } from '../../src/db/dump/backup.ts'
import { restore } from '../../src/db/dump/restore.ts'
import { openArchive } from '../../src/db/wal-archive/contents.ts'
import { folderStore } from '../../src/db/wal-archive/store.ts'
import { openStore } from '../../src/storage/index.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { PASSWORD, startTestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { freshDatabase } from '../kit/database.ts'

// Backups and WAL archives have the batches whose rows are in the archive of the data folder.

const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations')
const NO_S3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined }
const AT_ONCE = { settleMs: 0, thawedMs: 0, replacedMs: 0, noneForMs: 0, at: '0 0 29 2 *' }
const root = mkdtempSync(join(tmpdir(), 'svc-archive-backup-'))
const FILE = join(root, 'backup.svc')
const clock = createClock()
const archiveIn = (name: string) => ({
  url: pathToFileURL(join(root, name)).href,
  afterDays: 1 / 24,
  own: true,
  s3: NO_S3,
})
const HOME = archiveIn('home')
let door: Door

beforeAll(async () => {
  door = await openDoor({ archive: HOME }, { now: clock.now, archive: AT_ONCE })
  await run('first')
  clock.forward({ minutes: 61 })
  await door.app.runTask('archive')
  expect(await statesOf()).toEqual(['cold'])
}, 60_000)
afterAll(async () => {
  await door?.stop()
  rmSync(root, { recursive: true, force: true })
})

async function run(batch_id: string): Promise<void> {
  const timestamp = clock.now().toISOString()
  const of = (type: Parameters<typeof makeEvent>[0], data: Record<string, unknown> = {}) =>
    makeEvent(type, { batch_id, timestamp, data })
  const { status } = await door.sendAll([
    of('batch_start'),
    of('job_start'),
    ...Array.from({ length: 300 }, (_, epoch) => of('job_epoch', { epoch, loss: 1 / (epoch + 1) })),
    of('log_line', { line: 'the last line' }),
    of('job_done'),
    of('batch_done'),
  ])
  expect(status).toBe(200)
}
const statesOf = async (): Promise<string[]> =>
  (await door.sql<{ state: string }[]>`select state from cold_batches order by batch_key`).map(
    ({ state }) => state,
  )
const url = (): string => door.app.config.databaseUrl as string
const RAW = '/api/batches/first/jobs/job-1/attempts/1/metrics'

async function backUp(): Promise<{ archived: number }> {
  rmSync(FILE, { force: true })
  const objects = await openArchivedObjects(HOME)
  const saved = await backup({
    url: url(),
    migrations: MIGRATIONS,
    file: FILE,
    now: clock.now(),
    progress: () => {},
    objects: objects.read,
  })
  expect(objects.missing).toEqual([])
  return saved
}

test('a backup has archived batches, and a restore puts them into another archive', async () => {
  expect(await backUp()).toMatchObject({ archived: 1 })
  const target = await freshDatabase()
  const elsewhere = archiveIn('elsewhere')
  const store = await openStore(elsewhere)
  const options = {
    url: target.url,
    migrations: MIGRATIONS,
    file: FILE,
    replace: true,
    now: clock.now(),
    progress: () => {},
  }
  try {
    await expect(restore(options)).rejects.toThrow(/contains archived batches. Set SVC_ARCHIVE/)
    await restore({ ...options, object: ({ name, content }) => store.put(name, content) })
    expect(await checkArchived(target.url, store)).toEqual({ read: 1, missing: 0 })
    const person = { email: 'person1@example.org', password: PASSWORD }
    const app = await startTestApp(
      { databaseUrl: target.url, archive: elsewhere },
      { now: clock.now, archive: AT_ONCE },
    )
    try {
      const { token } = (await app.call('POST', '/api/auth/login', { body: person })).body
      const lines = await app.call('GET', '/api/batches/first/log-lines', { token })
      expect(lines.body.items).toMatchObject([{ line: 'the last line' }])
      expect(await target.sql`select from events`).toHaveLength(4)
      const { status, body } = await app.call('GET', RAW, { token })
      expect([status, body.series[0].values.length]).toEqual([200, 300])
      expect(await target.sql`select from events`).toHaveLength(305)
    } finally {
      await app.stop()
    }
  } finally {
    store.close()
    await target.drop()
  }
})

test('a WAL archive has the objects of archived batches, and gives them back', async () => {
  const folder = join(root, 'wal')
  const passphrase = 'a passphrase of some length'
  const archive = await openArchive(folderStore(folder), { passphrase, make: true })
  expect(await copyToWalArchive(url(), archive, HOME)).toBe(1)
  expect(await copyToWalArchive(url(), archive, HOME)).toBe(0)
  expect(await checkArchived(url(), await readerOfWalArchive(archive))).toEqual({ read: 1, missing: 0 })
  const empty = archiveIn('empty')
  expect(await copyFromWalArchive(url(), archive, empty)).toEqual([])
  const store = await openStore(empty)
  expect(await checkArchived(url(), store)).toEqual({ read: 1, missing: 0 })
  store.close()
  // Nothing names them any more, and every base backup is newer than that.
  await door.sql`update cold_batches set state = 'warm'`
  const base = { startedAt: '2020-01-01T00:00:00Z' }
  await archive.store.write('base/a.json', JSON.stringify(base))
  await copyToWalArchive(url(), archive, HOME)
  await copyToWalArchive(url(), archive, HOME)
  expect((await archive.store.listBelow('objects')).length).toBeGreaterThan(3)
  await archive.store.write('base/a.json', JSON.stringify({ startedAt: '2100-01-01T00:00:00Z' }))
  await copyToWalArchive(url(), archive, HOME)
  expect(await archive.store.listBelow('objects')).toEqual([])
  await door.sql`update cold_batches set state = 'cold'`
})

test('rows stay when objects are gone, as after a restore, and are archived again', async () => {
  await run('second')
  clock.forward({ minutes: 61 })
  const settling = await startTestApp(
    { databaseUrl: url(), archive: HOME },
    { now: clock.now, archive: { ...AT_ONCE, settleMs: 600_000 } },
  )
  try {
    await settling.runTask('archive')
    expect(await statesOf()).toEqual(['cold', 'verified'])
  } finally {
    await settling.stop()
  }
  const [batch] = await door.sql<{ location: string }[]>`
    select location from cold_batches where state = 'verified'`
  rmSync(join(root, 'home', batch?.location as string), { recursive: true })
  await door.app.runTask('archive')
  expect(await statesOf()).toEqual(['cold', 'cold'])
  const objects = readdirSync(join(root, 'home'), { recursive: true, encoding: 'utf8' })
  expect(objects.filter((name) => name.endsWith('manifest.json'))).toHaveLength(2)
  const { body } = await door.app.call('GET', RAW.replace('first', 'second'), { token: await session() })
  expect(body.series[0].values).toHaveLength(300)
})

test('a live stream that continues after its run was archived gets the points', async () => {
  const [{ seq }] = (await door.sql`select min(seq) seq from changes`) as unknown as [{ seq: number }]
  await door.app.runTask('archive')
  const [cold] = await door.sql<{ key: number }[]>`
    select b.key from batches b join cold_batches c on c.batch_key = b.key where c.state = 'cold' order by b.key limit 1`
  const [{ id }] = (await door.sql`select id from batches where key = ${cold?.key as number}`) as unknown as [
    { id: string },
  ]
  const query = `channel=${encodeURIComponent(`metrics:${id}`)}&last_event_id=${seq}`
  const answer = await fetch(`${door.app.address}/api/sse?${query}`, {
    headers: { authorization: `Bearer ${await session()}` },
  })
  expect(answer.status).toBe(200)
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    if (text.includes('"epoch":299')) break
  }
  expect(text).toContain('"epoch":0')
})

async function session(): Promise<string> {
  const body = { email: 'person1@example.org', password: PASSWORD }
  return (await door.app.call('POST', '/api/auth/login', { body })).body.token
}

test('the archive is in the data folder by default, elsewhere by one setting, and off with a database of one’s own', () => {
  const of = (settings: Record<string, string>) =>
    readConfig({ SVC_DATA_DIR: '/data', ...settings }).config.archive
  const external = { SVC_DATABASE_URL: 'postgresql://u:p@db/svc' }
  const own = { url: 'file:///data/archive', own: true }
  expect(of({})).toMatchObject({ ...own, afterDays: 1 / 24 })
  expect(of({ SVC_ARCHIVE_AFTER_HOURS: '12' })).toMatchObject({ ...own, afterDays: 0.5 })
  expect(of({ SVC_ARCHIVE: 'off' })).toMatchObject({ ...own, afterDays: undefined })
  expect(of({ SVC_ARCHIVE: '/data/archive' })).toMatchObject(own)
  expect(of({ SVC_ARCHIVE: 's3://b/p' })).toMatchObject({ url: 's3://b/p', own: false, afterDays: 1 / 24 })
  expect(of(external)).toBe(undefined)
  expect(of({ ...external, SVC_ARCHIVE: 'off' })).toBe(undefined)
  expect(of({ ...external, SVC_ARCHIVE: '/nfs' })).toMatchObject({ url: 'file:///nfs', own: false })
  // As before these settings.
  const earlier = { SVC_ARCHIVE_URL: 'file:///srv' }
  expect(of(earlier)).toMatchObject({ url: 'file:///srv', afterDays: undefined, own: false })
  expect(of({ ...earlier, SVC_ARCHIVE_AFTER_DAYS: '90' })).toMatchObject({ afterDays: 90 })
  expect(of({ ...earlier, SVC_ARCHIVE: 'off' })).toMatchObject({ url: 'file:///srv', afterDays: undefined })
  expect(() => of({ ...earlier, SVC_ARCHIVE: '/other' })).toThrow(/name two archives/)
  expect(() => of({ ...external, SVC_ARCHIVE_AFTER_DAYS: '90' })).toThrow(/needs SVC_ARCHIVE/)
  expect(() => of({ SVC_ARCHIVE: 'http://example.org' })).toThrow(/must be a folder/)
})
