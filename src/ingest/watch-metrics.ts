import { entryOf, itemAt, required } from '../checked.ts'
import type { Tx } from '../db/sql.ts'
import { writeNumber } from '../domain/events/index.ts'
import type { JobState } from '../domain/jobs/index.ts'
import type { EpochRow } from '../domain/metrics/index.ts'
import {
  type Before,
  type EnabledRule,
  findCrossings,
  firingKey,
  type Happening,
  type SetValue,
} from '../domain/notifications/index.ts'
import type { Item } from './outcome.ts'
import type { GroupState } from './state.ts'

/** Rules that watch a series of an event, each with the value before the event. */
interface Seen {
  job: JobState
  checked: Item['checked']
  rules: { rule: EnabledRule; before: Before }[]
}

export interface MetricWatch {
  /** Call it before an epoch is folded; undefined if no rule watches its series. */
  before(job: JobState, checked: Item['checked'], row: EpochRow | undefined): Seen | undefined
  after(seen: Seen, row: EpochRow): void
  /** The rules whose threshold was crossed. Call it before the rows are written. */
  crossed(tx: Tx): Promise<Happening[]>
}

/** Follows the series that metric rules watch; undefined if the group's projects have no such rule. */
export function createMetricWatch(groupState: GroupState): MetricWatch | undefined {
  const watched = new Map<number, EnabledRule[]>()
  for (const { key, rules } of groupState.projectsByKey.values()) {
    if (rules.length === 0) continue
    const metric = rules.filter((rule) => rule.trigger === 'metric' && rule.condition !== null)
    if (metric.length > 0) watched.set(key, metric)
  }
  if (watched.size === 0) return undefined
  const sets: (SetValue & { happening: Happening })[] = []

  return {
    before(job, checked, row) {
      const { state } = entryOf(groupState.batches, checked.event.batch_id)
      const rules = (watched.get(state.projectKey) ?? [])
        .filter((rule) => checked.series?.names.includes(keyOf(rule)) === true)
        .map((rule) => ({ rule, before: valueBefore(job, keyOf(rule), row) }))
      return rules.length === 0 ? undefined : { job, checked, rules }
    },
    after({ job, checked, rules }, row) {
      const { state } = entryOf(groupState.batches, checked.event.batch_id)
      for (const { rule, before } of rules) {
        const series = entryOf(job.progress.numbers, keyOf(rule))
        const value = row.vals[series]
        if (value === undefined || (before.value !== undefined && Object.is(before.value, value))) continue
        const happening: Happening = {
          trigger: 'metric',
          projectKey: state.projectKey,
          batchKey: state.key,
          jobKey: job.key,
          key: firingKey(state.key, checked.eventId),
          at: checked.at,
          ruleId: rule.id,
        }
        sets.push({
          rule,
          batchKey: state.key,
          jobKey: job.key,
          series,
          epoch: row.epoch,
          before,
          after: value,
          happening,
        })
      }
    },
    async crossed(tx) {
      if (sets.length === 0) return []
      const crossings = await findCrossings(tx, sets)
      return crossings.map(([{ happening }, { epoch, value }]) => ({
        ...happening,
        detail: { epoch, value: writeNumber(value) },
      }))
    },
  }
}

const keyOf = (rule: EnabledRule): string => required(rule.condition).key

function valueBefore({ progress }: JobState, key: string, row: EpochRow | undefined): Before {
  const series = progress.numbers.get(key)
  const epoch = series === undefined ? undefined : progress.lastEpoch[series]
  return {
    value: series === undefined ? undefined : row?.vals[series],
    last:
      series === undefined || epoch === undefined || epoch === Number.NEGATIVE_INFINITY
        ? undefined
        : { epoch, value: itemAt(progress.lastValue, series) },
  }
}
