/**
 * What 10,000 concurrent runs ask of a set-up for a month, minute by minute: runs that begin and end, epochs, lines and
 * snapshots as they come, people who look at pages by day, notebooks by night. Nothing is sent anywhere: each statement costs
 * what the last `npm run bench -- --all` measured of it (docs/performance.md), so a run takes a second. For each set-up it prints
 * how busy each part is and which one is full first. docs/scaling.md explains the set-ups.
 *
 *   SCALE_RUNS=50000 npm run bench -- scale      another number of runs
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Figure } from './kit/report.ts'

const RUNS = Number(process.env.SCALE_RUNS ?? 10_000)
const MINUTES = 30 * 24 * 60
/** A part that is busier than this in one minute of a hundred has no room for a burst. */
const FULL = 0.7

/** The mix: of 10 runs nine report an epoch each 10 s, one by one, and one reports 2 a second, in arrays. */
const MIX = {
  hoursOfRun: 6,
  singleEpochsPerS: 0.9 * 0.1,
  arrayEpochsPerS: 0.1 * 2,
  linesPerS: 0.05,
  snapshotsPerS: 1 / 15,
  /** At the busiest hour, for 1,000 runs: pages with charts a minute, lists a minute, open streams. */
  charts: 2,
  lists: 10,
  streams: 50,
  /** Points drawn of a chart, in millions. */
  pointsOfChart: 0.2,
  /** Exports by night an hour for 1,000 runs, of a million points each. */
  exports: 1,
  /** Of the epochs, those that some stream follows. */
  followed: 0.02,
}

interface UnitCosts {
  /** CPU milliseconds, of the service and PostgreSQL together. */
  eventInArray: number
  singleEvent: number
  millionPoints: number
  list: number
  exportOfMillion: number
  frame: number
  /** Events a second that one server process stored at most, beside its database on two cores. */
  arraysOfServer: number
  singlesOfServer: number
  /** Bytes of tables and of WAL an event, all indexes counted. */
  hotBytes: number
  walBytes: number
}

/** The figures that the last whole run left in docs/performance.md. */
function measuredCosts(): UnitCosts {
  const text = readFileSync(join(import.meta.dirname, '../docs/performance.md'), 'utf8')
  const found = (pattern: RegExp): number => {
    const number = pattern.exec(text)?.[1]
    if (number === undefined) throw new Error(`docs/performance.md has no figure ${pattern}`)
    return Number(number.replaceAll(',', ''))
  }
  const storage = (what: string, otherwise: number): number =>
    Number(new RegExp(`${what}[^|]*\\| *(\\d+) bytes an event`).exec(text)?.[1] ?? otherwise)
  return {
    eventInArray: found(/CPU per 1,000 events in arrays[^|]*\| *([\d.]+) ms/) / 1_000,
    singleEvent: found(/\| Single events, 64 connections +\|[^|]*?, ([\d.]+) ms CPU/) / 1_000,
    millionPoints: found(/\| chart of 1M points +\| *([\d.]+) ms CPU/),
    list: found(/\| batch list, newest +\| *([\d.]+) ms CPU/),
    exportOfMillion: (found(/metrics\.arrow \(packed\)[^|]*\|[^|]*?([\d.]+) s CPU/) * 1_000) / 10,
    frame: found(/Frames to 1000 streams[^|]*\|[^|]*?([\d.]+) µs CPU/) / 1_000,
    arraysOfServer: found(/\| Arrays of 500, events +\| *([\d,]+)\/s/),
    singlesOfServer: found(/\| Single events, 64 connections +\| *([\d,]+)\/s/),
    // Decision 0022, until a whole run has them.
    hotBytes: storage('tables', 490),
    walBytes: storage('WAL', 594),
  }
}

/** A part of a set-up and what it can do; `share` is what of each kind of work comes to it. */
interface Part {
  name: string
  cores: number
  share: (work: { ingest: number; reads: number; exports: number; frames: number }) => number
}
interface SetUp {
  name: string
  parts: Part[]
  servers: number
}

/** How the CPU of ingest and of reads is divided between node and PostgreSQL (docs/performance.md, "Single events"). */
const NODE = { ingest: 0.55, reads: 0.4, exports: 0.7 }

function setUp(
  name: string,
  servers: number,
  database: { cores: number; workers: number; replica: boolean },
): SetUp {
  const { cores, workers, replica } = database
  const stored = (work: Parameters<Part['share']>[0]): number =>
    work.ingest * (1 - NODE.ingest) + work.reads * (1 - NODE.reads)
  const exported = (work: Parameters<Part['share']>[0]): number => work.exports * (1 - NODE.exports)
  const parts: Part[] = [
    {
      name: `${servers} server processes`,
      cores: servers,
      share: (work) =>
        work.ingest * NODE.ingest +
        work.reads * NODE.reads +
        work.exports * NODE.exports +
        work.frames * servers,
    },
  ]
  if (workers > 1)
    // A coordinator plans each statement; one in ten of what a statement costs is taken for that.
    parts.push({ name: 'coordinator', cores, share: (work) => 0.1 * (stored(work) + exported(work)) })
  parts.push({
    name: workers > 1 ? `each of ${workers} workers` : 'database',
    cores,
    share: (work) => (stored(work) + (replica ? 0 : exported(work))) / workers,
  })
  if (replica) parts.push({ name: 'replica', cores, share: (work) => 0.2 * work.ingest + exported(work) })
  return { name, parts, servers }
}

const SET_UPS: SetUp[] = [
  setUp('1 machine of 4 cores', 1, { cores: 3, workers: 1, replica: false }),
  setUp('2 servers, database of 8 cores, replica', 2, { cores: 8, workers: 1, replica: true }),
  setUp('4 servers, database of 16 cores, replica', 4, { cores: 16, workers: 1, replica: true }),
  setUp('8 servers, 4 workers of 8 cores', 8, { cores: 8, workers: 4, replica: false }),
]

/** The same numbers in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

interface Minute {
  runs: number
  /** Events that come one by one, and those in arrays. */
  singles: number
  inArrays: number
  charts: number
  lists: number
  exports: number
  frames: number
}

/** Minute by minute. Runs begin more by day than by night; each goes on for hours. */
function* minutes(): Generator<Minute> {
  const random = randomNumbers(1)
  const about = (mean: number): number => {
    // Of many independent ones, the sum is nearly normal.
    const normal = Math.sqrt(-2 * Math.log(random() || 1e-9)) * Math.cos(2 * Math.PI * random())
    return Math.max(0, mean + Math.sqrt(mean) * normal)
  }
  let runs = RUNS
  for (let minute = 0; minute < MINUTES; minute++) {
    const hour = (minute / 60) % 24
    const weekend = Math.floor(minute / 1_440) % 7 >= 5
    const day = weekend ? 0.2 : Math.max(0.05, Math.sin(((hour - 7) / 12) * Math.PI))
    const begin = about(
      (RUNS / (MIX.hoursOfRun * 60)) * (weekend ? 0.7 : 0.8 + 0.8 * Math.max(0, day - 0.25)),
    )
    runs = Math.max(0, runs + begin - about(runs / (MIX.hoursOfRun * 60)))
    const thousands = RUNS / 1_000
    const epochs = about(runs * MIX.singleEpochsPerS * 60)
    const inArrays = about(runs * MIX.arrayEpochsPerS * 60)
    yield {
      runs,
      singles: epochs + about(runs * (MIX.linesPerS + MIX.snapshotsPerS) * 60) + begin * 4,
      inArrays,
      charts: about(MIX.charts * thousands * day),
      lists: about(MIX.lists * thousands * day),
      exports: hour < 6 ? about((MIX.exports * thousands) / 60) : 0,
      frames: (epochs + inArrays) * MIX.followed * Math.max(1, (MIX.streams * thousands * day) / 50),
    }
  }
}

/** @param part of the numbers, of which so many are below the answer */
const quantile = (numbers: readonly number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * part)] as number

const percent = (part: number): string => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)}%`
const whole = (number: number): string => Math.round(number).toLocaleString('en')

export async function benchScale(): Promise<Figure[]> {
  const cost = measuredCosts()
  const all = [...minutes()]
  const perS = all.map(({ singles, inArrays }) => (singles + inArrays) / 60)
  const month = perS.reduce((sum, events) => sum + events * 60, 0)
  const figures: Figure[] = [
    {
      what: `${whole(RUNS)} runs for a month`,
      value: `${(month / 1e9).toFixed(1)} billion events; ${whole(month / MINUTES / 60)} a second, ${whole(quantile(perS, 0.99))} at p99`,
      limit: `most runs at once ${whole(Math.max(...all.map(({ runs }) => runs)))}`,
    },
    {
      what: 'Tables after the month, nothing archived',
      value: `${((month * cost.hotBytes) / 1e12).toFixed(2)} TB`,
      limit: `${cost.hotBytes} bytes an event`,
    },
    {
      what: 'Tables with the archive after 8 days',
      value: `${((month * cost.hotBytes * 8.25) / 30 / 1e12).toFixed(2)} TB`,
      limit: 'SVC_ARCHIVE_AFTER_DAYS=8',
    },
    {
      what: 'WAL, p99',
      value: `${((quantile(perS, 0.99) * cost.walBytes) / 1e6).toFixed(1)} MB/s`,
      limit: `${cost.walBytes} bytes an event`,
    },
  ]
  for (const { name, parts, servers } of SET_UPS) {
    const busy = parts.map((part) => ({ part, of: all.map((minute) => busyOf(part, minute, cost)) }))
    // What one process stored at most, with its share of the events.
    const stored = all.map(
      ({ singles, inArrays }) =>
        (singles / cost.singlesOfServer + inArrays / cost.arraysOfServer) / 60 / servers,
    )
    const each = [
      ...busy.map(({ part, of }) => ({ what: part.name, p99: quantile(of, 0.99) })),
      { what: 'events of a process, of its measured most', p99: quantile(stored, 0.99) },
    ]
    const first = each.reduce((most, one) => (one.p99 > most.p99 ? one : most))
    figures.push({
      what: name,
      value: each.map(({ what, p99 }) => `${what} ${percent(p99)}`).join(', '),
      limit: `${first.what} is full first, at ${whole((RUNS * FULL) / first.p99)} runs`,
      ratio: first.p99 / FULL,
      aim: { most: 1 },
    })
  }
  return figures
}

/** How busy a part is in a minute; 1: all of its cores. */
function busyOf({ cores, share }: Part, minute: Minute, cost: UnitCosts): number {
  const ms = share({
    ingest: minute.singles * cost.singleEvent + minute.inArrays * cost.eventInArray,
    reads: minute.charts * MIX.pointsOfChart * cost.millionPoints + minute.lists * cost.list,
    exports: minute.exports * cost.exportOfMillion,
    frames: minute.frames * cost.frame,
  })
  return ms / 60_000 / cores
}
