import { combinations, type Space } from './space.ts'

/** What a sweep is defined by (docs/sweeps.md). Its number of trials may change later. */
export interface Definition {
  name: string
  method: Method
  metric: { name: string; goal: 'minimize' | 'maximize' }
  parameters: Space
  early_stopping?: ({ type: EarlyStopping } & Record<string, string | number | boolean>) | undefined
  command?: string | undefined
}

export const METHODS = ['grid', 'random', 'tpe', 'cmaes', 'gp', 'qmc'] as const
export type Method = (typeof METHODS)[number]
export const EARLY_STOPPING = ['median', 'hyperband', 'percentile'] as const
export type EarlyStopping = (typeof EARLY_STOPPING)[number]
/** The methods whose next parameters the service computes; the others are computed by workers from the history. */
export const proposesItself = (method: Method): method is 'grid' | 'random' =>
  method === 'grid' || method === 'random'

export const SWEEP_STATES = ['running', 'paused', 'stopped', 'finished'] as const
export type SweepState = (typeof SWEEP_STATES)[number]
export const MAX_TRIALS = 1_000_000

/** How many trials the sweep has at most; null without a limit. */
export function budgetOf(definition: Pick<Definition, 'method' | 'parameters'>, maxTrials: number | null) {
  if (definition.method !== 'grid') return maxTrials
  const size = combinations(definition.parameters)
  return maxTrials === null ? size : Math.min(size, maxTrials)
}

/** Why a trial does not run; `pruned` has ended early because others are better. */
export const TRIAL_STATES = ['running', 'completed', 'pruned', 'failed', 'stopped', 'lost'] as const
export type TrialState = (typeof TRIAL_STATES)[number]

/** How long a lease may be, in seconds. */
export const LEASE_S = { min: 10, max: 86_400 } as const
/** A trial whose workers were lost so often is failed: its parameters may be the cause. */
export const MAX_HANDED_OUT = 10

/** An event that a change of a sweep entails; the transports store it as those of reporters are stored. */
export interface SweepEvent {
  event_type: 'batch_start' | 'batch_done' | 'batch_failed' | 'job_start' | 'job_failed'
  batch_id: string
  job_id: string | null
  project: string
  data: Record<string, unknown>
}

export const startOf = (
  sweep: { batchId: string; project: string; definition: Definition },
  budget: number | null,
): SweepEvent => ({
  event_type: 'batch_start',
  batch_id: sweep.batchId,
  job_id: null,
  project: sweep.project,
  data: { experiment_type: 'sweep', n_total: budget ?? 0, name: sweep.definition.name },
})
