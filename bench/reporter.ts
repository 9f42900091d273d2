/**
 * What the Python reporter costs, as its own bench measures it (python/reporter/bench/run.py): a call in a training
 * loop, the end of a run with a dead server, events a second end to end, memory.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Figure, printFigures } from './kit/report.ts'

const PROGRAM = join(import.meta.dirname, '..', 'python', 'reporter', 'bench', 'run.py')

interface Told {
  name: string
  value: number
  unit: string
  limit: number | null
}

export async function benchReporter(): Promise<Figure[]> {
  const child = spawn('python3', [PROGRAM, '--quick', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const figures: Figure[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const { name, value, unit, limit } = JSON.parse(line) as Told
    figures.push({
      what: name,
      value: `${value.toLocaleString('en', { maximumFractionDigits: 2 })} ${unit}`,
      limit: limit === null ? '' : `${limit} ${unit}`,
      ...(limit !== null && { ratio: value / limit, aim: { most: 1 } }),
    })
  }
  if (figures.length === 0) throw new Error('the bench of the reporter told nothing')
  return figures
}

if (process.argv[1] === import.meta.filename) printFigures('Reporter', await benchReporter())
