import { required } from '../../checked.ts'
import { type Numeric, numberOf } from '../events/index.ts'

/** What a rule may watch for (contract §7). Pure: no I/O in this file. */
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

/** Of a metric rule. `is_nan` has no value. */
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

/** Does a value of the series meet the condition? NaN is neither below nor above anything. */
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

/** What a mail says beyond what the rows say when it is written. */
export interface Detail {
  /** Why a batch or job failed. */
  reason?: string
  /** Of an alert: its title; its text is the reason. */
  alert?: string
  /** Of a metric: the epoch and value that met the condition. */
  epoch?: number
  value?: Numeric
  /** Of a silence, an idle GPU, an agent: for how long, in seconds, and on which host. */
  silentS?: number
  host?: string
}

/** Something that rules may fire at. */
export interface Happening {
  trigger: Trigger
  projectKey: number
  /** Null for what concerns no batch, such as an agent. */
  batchKey: number | null
  jobKey?: number | null
  /**
   * This event or this episode, for ever: a rule fires at most once for it. Such as `firingKey`, or
   * `stalled:<batch key>:<when it was last seen>`.
   */
  key: string
  /** When it happened. */
  at: string
  /** Only for that rule; without it, every rule of the project with that trigger. A metric always names its rule. */
  ruleId?: string
  detail?: Detail
}

/** The firing that one event causes: its identity within the service. */
export const firingKey = (batchKey: number, eventId: string): string => `event:${batchKey}:${eventId}`

export const metricValue = (detail: Detail): number | undefined => numberOf(detail.value)
