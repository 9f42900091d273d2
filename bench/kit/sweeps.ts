/**
 * What the sweeper costs beside much stored work: expired log lines, stored again in each round, and the longest
 * transaction in which they go, which is what ingest may have to wait for.
 */
import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { createSweeper, type Sweeper } from '../../src/workers/sweeper.ts'
import { cpuMsOf } from './cpu.ts'
import { postAll } from './load.ts'
import { type Figure, median } from './report.ts'
import type { Side } from './side.ts'

const LINES = 20_000
const ARRAY = 500
const ROUNDS = 3
const AIM = { most: 1.3 } as const
const DAYS = { logLine: 14, event: undefined, deleted: 30, notification: 3_650 }
/** Each sweep checks the newest sixteen; the small database has fewer. */
const OPEN = { ids: 65_536, open: 2, rows: 5_000 }

interface Swept {
  cpuMs: number
  longestMs: number
}

export async function compareSweeps(few: Side, many: Side): Promise<Figure[]> {
  const sides = [few, many]
  const loads = new Map<Side, Swept[]>(sides.map((side) => [side, []]))
  const idle = new Map<Side, number>()
  for (let round = -1; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      await storeDue(side)
      const swept = await sweep(side, OPEN)
      if (round >= 0) loads.get(side)?.push(swept)
    }
  }
  for (const side of sides) {
    await sweep(side)
    idle.set(side, (await sweep(side)).cpuMs)
  }
  const perThousand = (side: Side): number =>
    median((loads.get(side) as Swept[]).map(({ cpuMs }) => cpuMs)) / (LINES / 1_000)
  const longest = (side: Side): number =>
    median((loads.get(side) as Swept[]).map(({ longestMs }) => longestMs))
  return [
    {
      what: 'sweep, per 1,000 lines removed',
      value: `${perThousand(many).toFixed(1)} ms CPU`,
      limit: `${perThousand(few).toFixed(1)} ms CPU`,
      ratio: perThousand(many) / perThousand(few),
      aim: AIM,
    },
    {
      what: 'sweep, longest transaction',
      value: `${longest(many).toFixed(0)} ms`,
      limit: `${longest(few).toFixed(0)} ms`,
      ratio: longest(many) / longest(few),
    },
    {
      what: 'sweep that finds nothing: the newest million events',
      value: `${(idle.get(many) as number).toFixed(0)} ms CPU`,
      limit: `${(idle.get(few) as number).toFixed(0)} ms CPU, of fewer`,
    },
  ]
}

/** CPU of PostgreSQL and of the sweeper, which runs in this process. */
async function sweep({ database }: Side, stretches?: typeof OPEN): Promise<Swept> {
  let longestMs = 0
  const log = pino(
    {},
    {
      write(line: string) {
        longestMs = JSON.parse(line).longestMs ?? longestMs
      },
    },
  )
  const sweeper: Sweeper = createSweeper({
    url: database.url,
    log,
    now: () => new Date(),
    days: DAYS,
    ...(stretches && { ranges: stretches }),
  })
  try {
    const own = process.cpuUsage()
    const before = cpuMsOf(database.pid)
    await sweeper.sweep(AbortSignal.timeout(60_000))
    const { user, system } = process.cpuUsage(own)
    return { cpuMs: cpuMsOf(database.pid) - before + (user + system) / 1000, longestMs }
  } finally {
    await sweeper.close()
  }
}

/** Log lines of three weeks ago, of one batch. */
async function storeDue({ server }: Side): Promise<void> {
  const batch = `sweep-${randomUUID()}`
  const timestamp = new Date(Date.now() - 21 * 86_400_000).toISOString()
  const line = (n: number): string =>
    JSON.stringify({
      event_id: randomUUID(),
      schema_version: '1.1',
      event_type: 'log_line',
      timestamp,
      batch_id: batch,
      job_id: 'job',
      source: { project: 'bench', host: 'box1', user: 'bench' },
      data: {
        line: `epoch ${n}: learning rate dropped, loss plateau reached on the validation set`,
        level: 'info',
      },
    })
  const bodies = Array.from(
    { length: LINES / ARRAY },
    (_, i) => `[${Array.from({ length: ARRAY }, (_, k) => line(i * ARRAY + k)).join(',')}]`,
  )
  const { address, token } = server
  const load = await postAll(address, '/api/events/batch', bodies, { connections: 2, token })
  if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
}
