/**
 * What a second and a third server bring on one database: the same load per server, each on batches of its own, so
 * that only what servers share can make them wait. Once with commits of 10 ms, once without a delay. Rounds are
 * interleaved, and each ratio is that of one round.
 */
import { take, trainingEvents } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import { type Figure, median } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 2

const SERVERS = 3
const EVENTS = 1_200
const CONNECTIONS = 16
const ROUNDS = 3

export async function benchServers(): Promise<Figure[]> {
  return [
    // Without siblings the delay is left out while few transactions are under way, and one server would gain by that.
    ...(await onDatabase('commits of 10 ms', { commit_delay: '10000', commit_siblings: '0' }, [1.8, 2.5])),
    ...(await onDatabase('no delay', {}, [0.95])),
  ]
}

async function onDatabase(
  what: string,
  settings: Record<string, string>,
  aims: readonly number[],
): Promise<Figure[]> {
  const database = await startDatabase(undefined, settings)
  const servers: BenchServer[] = []
  try {
    for (let i = 0; i < SERVERS; i++) servers.push(await startServer(database.url))
    const rates = Array.from({ length: SERVERS }, (): number[] => [])
    for (let round = -1; round < ROUNDS; round++) {
      for (const [i, of] of rates.entries()) {
        const rate = await eventsPerS(servers.slice(0, i + 1), `${i + 1}-${round}`)
        // The first round warms up.
        if (round >= 0) of.push(rate)
      }
    }
    const [alone = [], ...more] = rates
    const text = (of: readonly number[]): string => `${Math.round(median(of)).toLocaleString('en')}/s`
    return more.map((of, i) => {
      const aim = aims[i]
      return {
        what: `${i + 2} servers, ${what}, single events`,
        value: text(of),
        limit: `one server ${text(alone)}`,
        ratio: median(of.map((rate, round) => rate / (alone[round] as number))),
        ...(aim === undefined ? {} : { aim: { least: aim } }),
      }
    })
  } finally {
    for (const server of servers) await server.stop()
    await database.stop()
  }
}

/** Events a second of all these servers together, until the slowest is done. */
async function eventsPerS(servers: readonly BenchServer[], tag: string): Promise<number> {
  // One reporter for all: the project belongs to the user who names it first.
  const token = (servers[0] as BenchServer).token
  const loads = await Promise.all(
    servers.map((server, i) => {
      const bodies = take(trainingEvents({ batches: 8, jobs: 4, tag: `${tag}-server-${i}` }), EVENTS)
      return postAll(server.address, '/api/events', bodies, { connections: CONNECTIONS, token })
    }),
  )
  const failures = loads.reduce((sum, load) => sum + load.failures, 0)
  if (failures > 0) throw new Error(`${failures} of ${tag} were not answered with 200`)
  return (EVENTS * servers.length) / Math.max(...loads.map((load) => load.seconds))
}
