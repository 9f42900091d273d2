import { required } from '../../checked.ts'
import { type Numeric, numberOf } from '../events/index.ts'

/** The triggers and conditions of rules (contract §7). This file does no I/O. */
export const TRIGGERS = [
  'batch_done',
  'batch_failed',
  'job_failed',
  'batch_stalled',
  'job_idle',
  'agent_offline',
  'metric',
  'alert',
] as const
export type Trigger = (typeof TRIGGERS)[number]

export const OPS = ['<', '<=', '>', '>=', 'is_nan'] as const
export type Op = (typeof OPS)[number]

/** The condition of a metric rule. `is_nan` has no value. */
export interface Condition {
  key: string
  op: Op
  value?: number | null | undefined
}

/** A rule as matching needs it. */
export interface EnabledRule {
  id: string
  trigger: Trigger
  condition: Condition | null
}

/** Whether a value of the series meets the condition. NaN is neither below nor above any number. */
export function meets({ op, value }: Condition, point: number): boolean {
  if (op === 'is_nan') return Number.isNaN(point)
  const bound = required(value)
  switch (op) {
    case '<':
      return point < bound
    case '<=':
      return point <= bound
    case '>':
      return point > bound
    case '>=':
      return point >= bound
  }
}

/** `val_loss is NaN`, `val_loss <= 0.1`. */
export const conditionText = ({ key, op, value }: Condition): string =>
  op === 'is_nan' ? `${key} is NaN` : `${key} ${op} ${value}`

/** The data of a mail that the rows do not have when it is written. */
export interface Detail {
  /** Why a batch or job failed. */
  reason?: string
  /** For an alert: its title; its text is the reason. */
  alert?: string
  /** For a metric: the epoch and value that met the condition. */
  epoch?: number
  value?: Numeric
  /** For a silence, an idle GPU or an agent: the duration in seconds, and the host. */
  silentS?: number
  host?: string
}

/** Something that happened and that rules may fire for. */
export interface Happening {
  trigger: Trigger
  projectKey: number
  /** Null without a batch, as for an agent. */
  batchKey: number | null
  jobKey?: number | null
  /**
   * The permanent key of this event or episode: a rule fires at most once for it. Such as `firingKey`, or
   * `stalled:<batch key>:<when it was last seen>`.
   */
  key: string
  /** When it happened. */
  at: string
  /** Only this rule; default: every rule of the project with that trigger. A metric always has its rule. */
  ruleId?: string
  detail?: Detail
}

/** The key of the firing that one event causes, unique within the service. */
export const firingKey = (batchKey: number, eventId: string): string => `event:${batchKey}:${eventId}`

export const metricValue = (detail: Detail): number | undefined => numberOf(detail.value)
