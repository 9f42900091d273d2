/**
 * Runs the benches of this folder one after another and prints their tables.
 *
 *   npm run bench                  those of ordinary length, about three minutes together
 *   npm run bench -- --all         the long ones too (`export const longMinutes = …`), within 45 minutes; writes
 *                                  docs/performance.md
 *   npm run bench -- NAME …        those, such as `ingest`
 *
 * BENCH_MINUTES=20 gives all of them less time than the 45 minutes; those that it did not reach are told.
 *
 * A file here is a bench when it exports a function `bench…`, which returns the figures of its table.
 */
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { descendantsOf } from './kit/cpu.ts'
import { type Section, writePerformance } from './kit/performance.ts'
import { type Figure, printFigures } from './kit/report.ts'

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'main.ts')
  .map((file) => file.slice(0, -'.ts'.length))
const all = process.argv.includes('--all')
const asked = process.argv.slice(2).filter((word) => word !== '--all')
const unknown = asked.filter((name) => !names.includes(name))
if (unknown.length > 0)
  throw new Error(`there is no bench ${unknown.join(', ')}; there are ${names.join(', ')}`)

/** So that all of them end within 45 minutes, even if one hangs. */
const MAX_MINUTES = 15
const ALL_MINUTES = Number(process.env.BENCH_MINUTES ?? 45)
const MIN_MINUTES = 1

const begun = performance.now()
const minutesLeft = (): number =>
  Math.min(MAX_MINUTES, asked.length > 0 ? MAX_MINUTES : ALL_MINUTES - (performance.now() - begun) / 60_000)

const benches = await Promise.all((asked.length > 0 ? asked : names).map(benchOf))
const sections: Section[] = []
// The longest come last, so that one that takes too long costs no other its place.
for (const { name, run } of benches
  .filter(({ longMinutes }) => asked.length > 0 || all || longMinutes === 0)
  .sort((a, b) => a.longMinutes - b.longMinutes)) {
  const from = performance.now()
  console.error(`${name} …`)
  // A failure is reported and does not stop the others.
  const figures = await within(minutesLeft(), run).catch((error: unknown): Figure[] => {
    console.error(error)
    process.exitCode = 1
    return [{ what: 'failed', value: error instanceof Error ? error.message : String(error), limit: '' }]
  })
  const seconds = (performance.now() - from) / 1000
  console.error(`${name}: ${seconds.toFixed(0)} s`)
  printFigures(name, figures)
  sections.push({ name, seconds, figures })
}
if (all && asked.length === 0) writePerformance(sections)
// What was cut off may hold the process.
process.exit()

interface Bench {
  name: string
  longMinutes: number
  run: () => Promise<Figure[]>
}

async function benchOf(name: string): Promise<Bench> {
  const module: Record<string, unknown> = await import(`./${name}.ts`)
  const run = Object.values(module).find(isBench)
  if (run === undefined) throw new Error(`bench/${name}.ts exports no function bench…`)
  return { name, longMinutes: Number(module.longMinutes ?? 0), run }
}

/** Rejects after so many minutes; what the bench had started is then ended, so that it does not disturb the next. */
async function within(minutes: number, run: () => Promise<Figure[]>): Promise<Figure[]> {
  if (minutes < MIN_MINUTES) throw new Error(`not begun: ${ALL_MINUTES} minutes were over`)
  const done = new AbortController()
  try {
    return await Promise.race([
      run(),
      sleep(minutes * 60_000, undefined, { signal: done.signal }).then(() => {
        for (const pid of descendantsOf(process.pid)) process.kill(pid, 'SIGTERM')
        throw new Error(`cut off after ${minutes.toFixed(0)} minutes`)
      }),
    ])
  } finally {
    done.abort()
  }
}

function isBench(value: unknown): value is () => Promise<Figure[]> {
  return typeof value === 'function' && value.name.startsWith('bench')
}
