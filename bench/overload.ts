/**
 * Three times what the service can store, sent by clients who do not wait for each other: what is stored meanwhile
 * against the peak, what the others are told, and how long it takes until all is well again.
 */
import { type Answered, createBodies, flood } from './kit/flood.ts'
import { percentile } from './kit/load.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { startDatabase, startServer } from './kit/server.ts'

/** Events of one request. */
const ARRAY = 96
const ROUNDS = 2
const PEAK_S = 6
const FLOOD_S = 8
const CALM_S = 12
const TIMES = 3

export async function benchOverload(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  try {
    const body = createBodies(ARRAY)
    let calmMs = 0
    await flood(server, body, { seconds: 3, connections: 8 })
    const peaks: number[] = []
    const goodputs: number[] = []
    const over: Answered[] = []
    const at = (perS: number, seconds: number): Promise<Answered[]> =>
      flood(server, body, { seconds, connections: 4_000, perS: Math.max(1, Math.round(perS)) })
    for (let round = 0; round < ROUNDS; round++) {
      const peak = stored(await flood(server, body, { seconds: PEAK_S, connections: 16 })).length / PEAK_S
      // Half of it is little; what that takes is held against what it takes after the flood.
      if (round === ROUNDS - 1) calmMs = median(stored(await at(peak / 2, 3)).map(latencyMs))
      const flooded = await at(peak * TIMES, FLOOD_S)
      peaks.push(peak)
      goodputs.push(
        stored(flooded).length / (Math.max(...flooded.map(({ answeredMs }) => answeredMs)) / 1000),
      )
      over.push(...flooded)
    }
    const calm = await at((peaks.at(-1) as number) / 2, CALM_S)
    const peakPerS = median(peaks)
    const goodput = median(goodputs)
    const refused = over.filter(({ status }) => status === 429 || status === 503)
    const amiss = over.filter(({ status }) => ![200, 429, 503].includes(status))
    const untold = refused.filter(({ retryAfter }) => !retryAfter)
    const share = (some: Answered[]): string => `${some.length} of ${over.length}`
    const perS = (n: number): string => `${Math.round(n * ARRAY).toLocaleString('en')} events/s`
    return [
      {
        what: `Stored at ${TIMES} times the peak`,
        value: `${perS(goodput)}, ${share(refused)} refused`,
        limit: `peak ${perS(peakPerS)}`,
        ratio: median(goodputs.map((g, i) => g / (peaks[i] as number))),
        aim: { least: 0.8 },
      },
      {
        what: 'Neither stored nor 429 or 503 with Retry-After',
        value: share([...amiss, ...untold]),
        limit: 'none',
        ratio: (amiss.length + untold.length) / over.length,
        aim: { most: 0 },
      },
      {
        what: 'Latency of what was stored meanwhile, p99 (ms)',
        value: `${percentile(stored(over).map(latencyMs), 99).toFixed(0)} ms`,
        limit: '5,000 ms',
        ratio: percentile(stored(over).map(latencyMs), 99) / 5_000,
        aim: { most: 1 },
      },
      {
        what: 'Until all is stored as quickly as before, at half the peak',
        value: `${recoveredS(calm, calmMs).toFixed(1)} s`,
        limit: '10 s',
        ratio: recoveredS(calm, calmMs) / 10,
        aim: { most: 1 },
      },
    ]
  } finally {
    await server.stop()
    await database.stop()
  }
}

const stored = (answers: Answered[]): Answered[] => answers.filter(({ status }) => status === 200)
const latencyMs = ({ dueMs, answeredMs }: Answered): number => answeredMs - dueMs

/** How many seconds until three in a row in which nothing is refused, and as quick as before or in a tenth of a second. */
function recoveredS(calm: Answered[], beforeMs: number): number {
  const good = Array.from({ length: CALM_S }, (_, second) => {
    const due = calm.filter(({ dueMs }) => Math.floor(dueMs / 1000) === second)
    return (
      due.every(({ status }) => status === 200) && median(due.map(latencyMs)) < Math.max(100, 2 * beforeMs)
    )
  })
  const first = good.findIndex((_, i) => i <= CALM_S - 3 && good.slice(i, i + 3).every(Boolean))
  return first < 0 ? CALM_S : first
}

if (process.argv[1] === import.meta.filename) printFigures('Overload', await benchOverload())
