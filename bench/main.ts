/**
 * Runs the benches of this folder one after another and prints their tables.
 *
 *   npm run bench                  those of ordinary length, about three minutes together
 *   npm run bench -- --all         the long ones too (`export const long = true`), within 45 minutes; writes
 *                                  docs/performance.md
 *   npm run bench -- NAME …        those, such as `ingest`
 *
 * A file here is a bench when it exports a function `bench…`, which returns the figures of its table.
 */
import { readdirSync } from 'node:fs'
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

const sections: Section[] = []
for (const name of asked.length > 0 ? asked : names) {
  const module: Record<string, unknown> = await import(`./${name}.ts`)
  if (asked.length === 0 && module.long === true && !all) continue
  const bench = Object.values(module).find(isBench)
  if (bench === undefined) throw new Error(`bench/${name}.ts exports no function bench…`)
  const begun = performance.now()
  console.error(`${name} …`)
  // One that fails is told, and does not keep the others from being measured.
  const figures = await bench().catch((error: unknown) => {
    console.error(error)
    process.exitCode = 1
    return [{ what: 'failed', value: error instanceof Error ? error.message : String(error), limit: '' }]
  })
  const seconds = (performance.now() - begun) / 1000
  console.error(`${name}: ${seconds.toFixed(0)} s`)
  printFigures(name, figures)
  sections.push({ name, seconds, figures })
}
if (all && asked.length === 0) writePerformance(sections)

function isBench(value: unknown): value is () => Promise<Figure[]> {
  return typeof value === 'function' && value.name.startsWith('bench')
}
