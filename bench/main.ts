/**
 * Runs the benches of this folder one after another and prints one table.
 *
 *   npm run bench                  those of ordinary length, about three minutes together
 *   npm run bench -- --all         the long ones too (`export const long = true`)
 *   npm run bench -- NAME …        those, such as `ingest`
 *
 * A file here is a bench when it exports a function `bench…`. It returns figures for the table, or prints what has
 * another shape itself and returns nothing.
 */
import { readdirSync } from 'node:fs'
import { type Figure, printFigures } from './kit/report.ts'

const names = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'main.ts')
  .map((file) => file.slice(0, -'.ts'.length))
const asked = process.argv.slice(2).filter((word) => word !== '--all')
const unknown = asked.filter((name) => !names.includes(name))
if (unknown.length > 0)
  throw new Error(`there is no bench ${unknown.join(', ')}; there are ${names.join(', ')}`)

const figures: Figure[] = []
for (const name of asked.length > 0 ? asked : names) {
  const module: Record<string, unknown> = await import(`./${name}.ts`)
  if (asked.length === 0 && module.long === true && !process.argv.includes('--all')) continue
  const bench = Object.values(module).find(isBench)
  if (bench === undefined) throw new Error(`bench/${name}.ts exports no function bench…`)
  const begun = performance.now()
  console.error(`${name} …`)
  for (const figure of (await bench()) ?? []) figures.push({ ...figure, what: `${name}: ${figure.what}` })
  console.error(`${name}: ${((performance.now() - begun) / 1000).toFixed(0)} s`)
}
if (figures.length > 0) printFigures('Bench', figures)

function isBench(value: unknown): value is () => Promise<Figure[]> | undefined {
  return typeof value === 'function' && value.name.startsWith('bench')
}
