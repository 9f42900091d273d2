import { Link } from '@tanstack/react-router'
import type { Trial } from '../lib/api/sweeps.ts'
import { links } from '../lib/links.ts'
import { count, some } from '../lib/words.ts'
import { RelativeTime } from '../ui/relative-time.tsx'

const MAX_WORKERS = 50

interface Worker {
  name: string
  running: Trial | undefined
  ended: number
  seenAt: string
}

/** The workers with their machines, their trials and their last signs of life; those at work first. */
export function Workers({ trials, batchId }: { trials: readonly Trial[]; batchId: string }) {
  const workers = workersOf(trials)
  if (workers.length === 0) return null
  const busy = workers.filter(({ running }) => running !== undefined).length
  const machines = new Set(workers.map(({ name }) => machineOf(name))).size
  return (
    <div className="mt-3 min-w-0 overflow-x-auto">
      <table className="w-full max-w-4xl text-left text-xs">
        <caption className="pb-1 text-left text-sm text-muted">
          {some(workers.length, 'worker')} on {some(machines, 'machine')}, {count(busy)} at work
        </caption>
        <thead className="text-muted">
          <tr>
            {['Machine', 'Worker', 'Trial', 'Ended', 'Last sign of life'].map((title) => (
              <th key={title} scope="col" className="border-b border-line py-1 pr-4 font-medium">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {workers.slice(0, MAX_WORKERS).map(({ name, running, ended, seenAt }) => (
            <tr key={name} className="border-b border-line">
              <td className="py-1 pr-4">{machineOf(name)}</td>
              <td className="py-1 pr-4 font-mono">
                {name.slice(machineOf(name).length).replace(/^:/, '') || name}
              </td>
              <td className="py-1 pr-4">
                {running === undefined ? (
                  <span className="text-muted">none</span>
                ) : (
                  <Link {...links.job(batchId, running.job_id)} className="hover:underline">
                    {running.job_id}
                  </Link>
                )}
              </td>
              <td className="py-1 pr-4 tabular-nums">{count(ended)}</td>
              <td className="py-1 pr-4 text-muted">
                <RelativeTime at={seenAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {workers.length > MAX_WORKERS && (
        <p className="text-xs text-muted">{some(workers.length - MAX_WORKERS, 'more worker')}</p>
      )}
    </div>
  )
}

/** A worker's name begins with its machine: `box7:4711 slurm 12_3`. */
const machineOf = (name: string): string => name.split(':', 1)[0] ?? name

function workersOf(trials: readonly Trial[]): Worker[] {
  const found = new Map<string, Worker>()
  for (const trial of trials) {
    const { worker: name, last_seen_at: seenAt } = trial
    if (name === null || seenAt === null) continue
    const known = found.get(name) ?? { name, running: undefined, ended: 0, seenAt }
    if (trial.state === 'running') known.running = trial
    else if (trial.state !== 'lost') known.ended++
    if (Date.parse(seenAt) > Date.parse(known.seenAt)) known.seenAt = seenAt
    found.set(name, known)
  }
  return [...found.values()].sort(
    (a, b) =>
      Number(b.running !== undefined) - Number(a.running !== undefined) ||
      Date.parse(b.seenAt) - Date.parse(a.seenAt),
  )
}
