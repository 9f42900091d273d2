import type { Batch } from './api/batches.ts'
import { flat } from './flat.ts'

const NAMES: Record<string, string> = {
  cwd: 'working directory',
  hostname: 'name of the machine',
  experiment_type: 'experiment type',
  python_version: 'Python',
  env_names: 'variables that were set (names only)',
  dirty: 'uncommitted changes',
}
/** The label of an environment field. */
export const factName = (name: string): string => NAMES[name] ?? name.replaceAll('_', ' ')

/** The environment a batch was started with: `env_snapshot` and the other fields of its start. */
export function environmentOf(batch: Batch): Record<string, unknown> {
  const { commit, command, cwd, hostname, ...more } = batch.env_snapshot ?? {}
  return {
    command: command ?? batch.command,
    cwd,
    host: batch.host ?? hostname,
    // If a script reports a host name other than its machine's.
    ...(batch.host !== null && hostname !== batch.host && { hostname }),
    commit: commit ?? batch.commit,
    user: batch.user,
    experiment_type: batch.experiment_type,
    ...flat(more),
  }
}

export const isThere = (value: unknown): boolean => value !== null && value !== undefined && value !== ''

export interface Difference {
  name: string
  here: unknown
  there: unknown
}

/** The facts that differ, in the order of the first. For lists of names, only the names that one side lacks. */
export function differences(here: Record<string, unknown>, there: Record<string, unknown>): Difference[] {
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])]
  return names.flatMap((name) => {
    const [a, b] = [here[name], there[name]]
    if (!isThere(a) && !isThere(b)) return []
    if (JSON.stringify(a) === JSON.stringify(b)) return []
    if (Array.isArray(a) && Array.isArray(b)) {
      const only = (some: unknown[], other: unknown[]): unknown[] =>
        some.filter((one) => !other.includes(one))
      return [{ name, here: only(a, b), there: only(b, a) }]
    }
    return [{ name, here: a, there: b }]
  })
}

export function valueText(value: unknown): string {
  if (!isThere(value)) return '–'
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(String).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Whether events arrived after the deletion: its run does not know about it. */
export const isReceiving = ({
  deleted_at,
  last_received_at,
}: Pick<Batch, 'deleted_at' | 'last_received_at'>): boolean =>
  deleted_at !== undefined &&
  last_received_at != null &&
  Date.parse(last_received_at) > Date.parse(deleted_at)
