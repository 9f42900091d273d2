import { canonicalInstant, instantOf } from '../../db/instant.ts'
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

export const METHODS = ['grid', 'random', 'tpe', 'cmaes', 'gp', 'qmc', 'nsga2'] as const
export type Method = (typeof METHODS)[number]
export const EARLY_STOPPING = ['median', 'hyperband', 'percentile'] as const
export type EarlyStopping = (typeof EARLY_STOPPING)[number]
/** The methods whose next parameters the service computes; the others are computed by workers from the history. */
export const proposesItself = (method: Method): method is 'grid' | 'random' =>
  method === 'grid' || method === 'random'

export const SWEEP_STATES = ['running', 'paused', 'stopped', 'finished'] as const
export type SweepState = (typeof SWEEP_STATES)[number]
export const MAX_TRIALS = 1_000_000

/** What the number of trials depends on. */
export interface Budgeted {
  definition: Pick<Definition, 'method' | 'parameters'>
  maxTrials: number | null
  /** The number of the next new trial. */
  nextNumber: number
  /** Trials that people asked for, which no method proposed. */
  extra: number
  /** How many trials had been proposed when the present space began. */
  spaceStart: number
}

/** How many trials the method proposes at most; null without a limit. */
export function budgetOf({ definition, maxTrials, spaceStart }: Omit<Budgeted, 'nextNumber' | 'extra'>) {
  if (definition.method !== 'grid') return maxTrials
  const size = spaceStart + combinations(definition.parameters)
  return maxTrials === null ? size : Math.min(size, maxTrials)
}

/** How many trials there will be in all; null without a limit. */
export function totalOf(sweep: Budgeted): number | null {
  const budget = budgetOf(sweep)
  return budget === null ? null : Math.max(budget, proposedBy(sweep)) + sweep.extra
}

/** How many trials the method has proposed. */
export const proposedBy = ({ nextNumber, extra }: Pick<Budgeted, 'nextNumber' | 'extra'>): number =>
  nextNumber - extra

/** Whether the method may propose more trials. */
export function hasMore(sweep: Budgeted): boolean {
  const budget = budgetOf(sweep)
  return budget === null || proposedBy(sweep) < budget
}

/** `pruned` has ended early because others are better; `queued` waits for a worker because a person asked for it. */
export const TRIAL_STATES = ['running', 'completed', 'pruned', 'failed', 'stopped', 'lost', 'queued'] as const
export type TrialState = (typeof TRIAL_STATES)[number]

/** How long a lease may be, in seconds. */
export const LEASE_S = { min: 10, max: 86_400 } as const
/** A trial whose workers were lost so often is failed: its parameters may be the cause. */
export const MAX_LOST = 10

/** An event that a change of a sweep entails; the transports store it as those of reporters are stored. */
export interface SweepEvent {
  event_type: 'batch_start' | 'batch_done' | 'batch_failed' | 'job_start' | 'job_failed'
  batch_id: string
  job_id: string | null
  project: string
  data: Record<string, unknown>
  /** The time of the request if absent. */
  timestamp?: string
}

export const startOf = (
  sweep: { batchId: string; project: string; definition: Definition },
  total: number | null,
): SweepEvent => ({
  event_type: 'batch_start',
  batch_id: sweep.batchId,
  job_id: null,
  project: sweep.project,
  data: { experiment_type: 'sweep', n_total: total ?? 0, name: sweep.definition.name },
})

/**
 * The second in which a trial is handed out. The events of its job may have whole seconds (specification §2.1): with
 * milliseconds the start would be after an end in the same second. It still follows the end of the attempt before.
 */
export function startSecond(now: Date, priorEnd: string | null = null): string {
  const second = `${instantOf(now).slice(0, 19)}Z`
  const follows = priorEnd === null || canonicalInstant(priorEnd) < canonicalInstant(second)
  return follows ? second : instantOf(now)
}
