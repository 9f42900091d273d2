import { get, patch, post, withQuery } from './request.ts'
import type { Numeric } from './wire-row.ts'

/** Sweeps are read through REST: their trials come by page, and nothing else in the graph needs them. */

export const METHODS = ['grid', 'random', 'tpe', 'cmaes', 'gp', 'qmc', 'nsga2'] as const
export type Method = (typeof METHODS)[number]
export type Parameter = (
  | { value: unknown }
  | { values: unknown[] }
  | { min: number; max: number; distribution?: string; q?: number }
) & {
  /** Part of a trial only if these parameters have one of these values. */
  when?: Record<string, unknown>
}

export interface Definition {
  name: string
  method: Method
  metric: { name: string; goal: 'minimize' | 'maximize' }
  parameters: Record<string, Parameter>
  max_trials?: number | null
  early_stopping?: ({ type: string } & Record<string, string | number | boolean>) | null
}

export type TrialState = 'running' | 'completed' | 'pruned' | 'failed' | 'stopped' | 'lost' | 'queued'

export interface SweepView extends Definition {
  id: string
  batch_id: string
  project: string
  n_total: number | null
  state: 'running' | 'paused' | 'stopped' | 'finished'
  created_by: { id: string; name: string } | null
  trials: Record<TrialState, number>
  best: { number: number; job_id: string; value: Numeric; params: Record<string, unknown> } | null
  /** Spaces that it had before. */
  edits: { from_number: number; at: string; by: { name: string } | null }[]
  eta_s: number | null
  /** How workers were started, newest first. */
  commands: WorkerCommand[]
  can: { ask: boolean; change: boolean; start: boolean }
}

export interface WorkerCommand {
  id: string
  host: string
  command: string
  cwd: string
  redacted: boolean
  /** Whether an agent of the owner is online on the host. */
  online: boolean
}

export interface Trial {
  number: number
  job_id: string
  state: TrialState
  params: Record<string, unknown>
  value: Numeric | null
  worker: string | null
  last_seen_at: string | null
  started_at: string | null
  ended_at: string | null
  changed: number
}

const path = (id: string): string => `/api/sweeps/${encodeURIComponent(id)}`

export const readSweep = (id: string, signal?: AbortSignal): Promise<SweepView> =>
  get(path(id), undefined, signal)

/** The most pages of trials that the panel reads; a chart of more would not be finer. */
const MAX_PAGES = 10

/** The newest trials, oldest first: at most 5,000. */
export async function readTrials(id: string, signal?: AbortSignal): Promise<Trial[]> {
  const found: Trial[] = []
  let cursor: string | null = null
  for (let page = 0; page < MAX_PAGES; page++) {
    const query: { limit: number; cursor?: string } = { limit: 500, ...(cursor !== null && { cursor }) }
    const answer: { items: Trial[]; next_cursor: string | null } = await get(
      withQuery(`${path(id)}/trials`, query),
      undefined,
      signal,
    )
    found.push(...answer.items)
    cursor = answer.next_cursor
    if (cursor === null) break
  }
  return found.reverse()
}

export const changeSweep = (
  id: string,
  change: {
    state?: 'running' | 'paused' | 'stopped'
    max_trials?: number | null
    parameters?: Definition['parameters']
  },
): Promise<SweepView> => patch(path(id), change)

/** Queues failed trials once more, or the parameters of a trial with other seeds. */
export const queueTrials = (
  id: string,
  wanted: { failed: true } | { trial: number; seeds: number[] },
): Promise<{ numbers: number[] }> => post(`${path(id)}/queue`, wanted)

/** Has an agent start workers by a recorded command; `confirm` is the SHA-256 of the command that was shown. */
export const startWorkers = (
  id: string,
  wanted: { command_id: string; workers: number; confirm?: string },
): Promise<{ cmd_ids: string[] }> => post(`${path(id)}/workers`, wanted)

const ofProject = (slug: string): string => `/api/projects/${encodeURIComponent(slug)}/sweeps`

export const createSweep = (slug: string, definition: Definition): Promise<SweepView> =>
  post(ofProject(slug), definition)

export interface Preview {
  n_total: number | null
  combinations: number | null
  trials: Record<string, unknown>[]
}

export const previewSweep = (
  slug: string,
  wanted: Pick<Definition, 'method' | 'parameters' | 'max_trials'>,
  signal?: AbortSignal,
): Promise<Preview> => post(`${ofProject(slug)}/preview`, wanted, signal)
