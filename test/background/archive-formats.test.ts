import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Column, Value } from '../../src/domain/cold/columns.ts'
import { createEpochValues, deriveEvents, EVENT_EXTRA, restoreEvents } from '../../src/domain/cold/derived.ts'
import { readParquet } from '../../src/domain/cold/parquet.ts'
import { createPoints, restoreValues, takeOutValues } from '../../src/domain/cold/points.ts'
import { joinPacked, payloadText, withTemplate } from '../../src/domain/events/index.ts'
import { highOf, lowOf } from '../../src/domain/step.ts'
import { type Door, openDoor } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { archivedEvents } from './archive-format-1/events.ts'

// What the archive holds: archives of the formats before are read, and what is left out because it follows from the epochs
// comes back to the byte.

const FORMATS = ['archive-format-1', 'archive-format-2']
const folder = mkdtempSync(join(tmpdir(), 'svc-archive-formats-'))
const clock = createClock()
let door: Door
beforeAll(async () => {
  for (const format of FORMATS)
    cpSync(join(import.meta.dirname, format, 'vision'), join(folder, 'vision'), { recursive: true })
  const archive = {
    url: pathToFileURL(folder).href,
    afterDays: 30,
    own: false,
    s3: { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined },
  }
  const AT_ONCE = { settleMs: 0, thawedMs: 0, replacedMs: 0, noneForMs: 0, at: '0 0 29 2 *' }
  door = await openDoor({ archive, lostAfterMin: 10_000_000 }, { now: clock.now, archive: AT_ONCE })
})
afterAll(async () => {
  await door?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const TABLES = ['events', 'epochs', 'metric_chunks', 'log_lines', 'resource_snapshots']
const countsOf = () =>
  Promise.all(TABLES.map(async (table) => (await door.sql.unsafe(`select from ${table}`)).length))
const texts = () =>
  door.sql`select e.event_id, ${payloadText(door.sql)} "text" from events e ${withTemplate(door.sql)} order by 1`
const epochs = () => door.sql`select job_key, epoch, ts, vals from epochs order by 1, 2`
const chunks = () =>
  door.sql`select job_key, series_no, first_epoch, last_epoch, n, steps, vals from metric_chunks order by 1, 2, 3`

async function csv(): Promise<string> {
  const person = { email: 'person1@example.org', password: PASSWORD }
  const { body } = await door.app.call('POST', '/api/auth/login', { body: person })
  // Reading what an attempt sent restores the rest.
  const restoring = await door.app.call('GET', `/api/batches/archived-before/jobs/a/attempts/1/metrics`, {
    token: body.token,
  })
  expect(restoring.status).toBe(200)
  const answer = await door.app.call('GET', '/api/batches/archived-before/metrics.csv', { token: body.token })
  expect(answer.status).toBe(200)
  return String(answer.body)
}

test('archives of earlier formats can be read, and are archived again in the current format without repeated values', async () => {
  const { status, body } = await door.sendAll(archivedEvents)
  expect([status, body.results.filter((one: { error?: unknown }) => one.error)]).toEqual([200, []])
  await vi.waitFor(async () => expect((await chunks()).length).toBeGreaterThan(0), 30_000)
  const counts = await countsOf()
  const stored = async () => ({
    csv: await csv(),
    texts: await texts(),
    epochs: await epochs(),
    chunks: await chunks(),
  })
  const before = await stored()

  for (const [i, name] of FORMATS.entries()) {
    const archives = 'vision/archived-before-1'
    const location = `${archives}/${readdirSync(join(import.meta.dirname, name, archives))[0]}`
    const manifest = readFileSync(join(folder, location, 'manifest.json'))
    expect(JSON.parse(manifest.toString()).format).toBe(i + 1)
    for (const table of TABLES) await door.sql.unsafe(`delete from ${table}`)
    await door.sql`
      insert into cold_batches (batch_key, state, location, manifest_sha256)
      values (1, 'cold', ${location}, ${createHash('sha256').update(manifest).digest('hex')})
      on conflict (batch_key) do update
        set state = 'cold', location = excluded.location, manifest_sha256 = excluded.manifest_sha256`
    await door.sql`update batches set cold_at = now()`
    await door.sql`update batch_progress set n_events = n_events`
    expect(await stored()).toEqual(before)
    expect(await countsOf()).toEqual(counts)
  }

  clock.forward({ days: 31 })
  await door.app.runTask('archive')
  const [events, epochsLeft, chunksLeft, lines, snapshots] = await countsOf()
  expect([lines, snapshots, chunksLeft]).toEqual([counts[3], counts[4], counts[2]])
  expect(events).toBeLessThan(20)
  expect(epochsLeft).toBeLessThan(counts[1] as number)
  const [cold] = await door.sql<{ location: string }[]>`select location from cold_batches`
  const written = JSON.parse(readFileSync(join(folder, cold?.location ?? '', 'manifest.json'), 'utf8'))
  expect(written.format).toBe(3)
  const { name, columns } = written.files.find((file: { table: string }) => file.table === 'epochs')
  const rows = await readParquet(readFileSync(join(folder, cold?.location ?? '', name)), columns)
  const vals = rows[columns.findIndex((one: Column) => one.name === 'vals')]
  expect(new Set(vals)).toEqual(new Set([null]))
  expect(written.files.flatMap((file: { recipes: string[] }) => file.recipes)).not.toEqual([])
  expect(await stored()).toEqual(before)
  expect(await countsOf()).toEqual(counts)
})

const column = (name: string, kind: Column['kind']): Column => ({ name, kind, type: kind })
const EPOCHS = [
  column('job_key', 'long'),
  column('epoch', 'int'),
  column('ts', 'instant'),
  column('vals', 'doubles'),
]
const EVENTS = [
  column('job_key', 'long'),
  column('payload', 'text'),
  column('packed', 'bytes'),
  ...EVENT_EXTRA,
]

/** One event of an epoch: the values that the epoch has, and the numbers as its text has them. */
interface Written {
  vals: (number | null)[]
  texts: string[]
}

/** Takes them out and puts them back. @returns which were taken out, and whether all are as before */
function roundTrip(rows: Written[]): { takenOut: boolean[]; same: boolean } {
  const hash = Buffer.from('abcdef')
  const known = createEpochValues()
  const all = (value: Value): Value[] => rows.map(() => value)
  known.add(EPOCHS, [all(1), rows.map((_, i) => i), all(0), rows.map(({ vals }) => vals)])
  const packed = rows.map(({ texts: numbers }) => joinPacked(hash, numbers))
  const values: Value[][] = [all(1), all('text'), [...packed], rows.map((_, i) => i), all(null), all(null)]
  const { recipes, takeOut } = deriveEvents(EVENTS, values, known)
  takeOut()
  const takenOut = rows.map((_, i) => values[2]?.[i] === null && values[1]?.[i] === null)
  restoreEvents(EVENTS, values, recipes, known)
  return { takenOut, same: packed.every((bytes, i) => bytes.equals(values[2]?.[i] as Uint8Array)) }
}

test.each([
  ['JavaScript', (value: number) => (Object.is(value, -0) ? '-0' : String(value))],
  [
    'Python',
    // What `repr` writes of these.
    (value: number) =>
      ({ 1e-7: '1e-07', 0.00001234: '1.234e-05', 1e16: '1e+16', 1.5e300: '1.5e+300', 3: '3.0' })[value] ??
      (Object.is(value, -0) ? '-0.0' : String(value)),
  ],
])('numbers as written by %s are restored from their epochs', (_, write) => {
  const rows = [0.1, 1e-7, 0.00001234, 1e16, 1.5e300, 3, -0, 0.0001, -2.5].map((value, i) => ({
    vals: [value, 0.5],
    texts: [String(i), write(value), '0.5'],
  }))
  expect(roundTrip(rows)).toEqual({ takenOut: rows.map(() => true), same: true })
})

test('numbers in another spelling, of another attempt or without a series are stored unchanged', () => {
  const plain = Array.from({ length: 40 }, (_, i) => ({
    vals: [i / 7, null],
    texts: [String(i), String(i / 7)],
  }))
  const odd: Written[] = [
    { vals: [100_000, null], texts: ['40', '1E+5'] },
    { vals: [0.1, null], texts: ['41', '0.10'] },
    { vals: [0.25, null], texts: ['42', '0.75'] },
    { vals: [null, null], texts: ['43', '7'] },
    { vals: [1, 2], texts: ['44', '1', '2'] },
    { vals: [], texts: [] },
  ]
  expect(roundTrip([...plain, ...odd])).toEqual({
    takenOut: [...plain.map(() => true), ...odd.map(() => false)],
    same: true,
  })
})

const POINTS = [
  column('job_id', 'text'),
  column('metric', 'text'),
  column('step', 'long'),
  column('value', 'double'),
]

test('values of epochs are left out where the points have them, and come back', () => {
  const jobs = [
    { key: 7, id: 'a', series: ['loss', 'acc', 'lr'] },
    { key: 9, id: 'b', series: ['loss'] },
  ]
  const points = createPoints(jobs)
  const found: [string, string, number, number][] = [
    ['a', 'loss', 0, 0.5],
    ['a', 'loss', 1, Number.NaN],
    ['a', 'loss', 5, Number.NEGATIVE_INFINITY],
    ['a', 'acc', 2 ** 40, 0.25],
    ['a', 'lr', 1, 1e-3],
    ['a', 'lr', 5, 2],
    ['a', 'unknown', 5, 2],
    ['b', 'loss', 0, 3],
    ['gone', 'loss', 0, 3],
  ]
  points.add(
    POINTS,
    POINTS.map((_, i) => found.map((row) => row[i] as Value)),
  )
  const epochs: [number, number, (number | null)[], boolean][] = [
    [7, 0, [0.5], true],
    [7, 1, [Number.NaN, null, 1e-3], true],
    [7, 3, [], true],
    [7, 5, [Number.NEGATIVE_INFINITY, null, 2], true],
    [7, 2 ** 40, [null, 0.25], true],
    [9, 0, [3], true],
    // Not as the points have it: another value, a null at its end, an unknown epoch, an unknown job.
    [9, 0, [-3], false],
    [7, 0, [0.5, null], false],
    [7, 4, [1], false],
    [8, 0, [0], false],
  ]
  const columns = [...EPOCHS, column('epoch_high', 'int')]
  const values: Value[][] = [
    epochs.map(([key]) => key),
    epochs.map(([, step]) => lowOf(step)),
    epochs.map(() => 0),
    epochs.map(([, , vals]) => vals),
    epochs.map(([, step]) => highOf(step)),
  ]
  takeOutValues(columns, values, points)
  expect(values[3]?.map((vals) => vals === null)).toEqual(epochs.map(([, , , derived]) => derived))
  restoreValues(columns, values, points)
  expect(values[3]).toEqual(epochs.map(([, , vals]) => vals))
})
