import { entryOf, itemAt, required } from '../../checked.ts'
import { byBatch } from '../../db/by-batch.ts'
import type { Tx } from '../../db/sql.ts'
import { highOf, lowOf } from '../step.ts'
import { type EnabledRule, meets } from './rule.ts'

/** A series of a job before an epoch was applied. */
export interface Before {
  /** The highest epoch that had the series, and its value there; undefined before the first. */
  last: { epoch: number; value: number } | undefined
  /** The value at the epoch itself; undefined if there was none. */
  value: number | undefined
}

/** A value that one event set. */
export interface SetValue {
  rule: EnabledRule
  batchKey: number
  jobKey: number
  /** The number of the series in the job's dictionary. */
  series: number
  epoch: number
  before: Before
  after: number
}

interface Neighbours {
  previous: Point | undefined
  next: Point | undefined
}
interface Point {
  epoch: number
  value: number
}

/**
 * Which of these values began a run of epochs that meet the rule's condition. A metric rule fires once for each run: at
 * its beginning, not at every epoch. Values may arrive in any order: a value before, within or after a run that has
 * fired belongs to it, and a value that splits a run makes a new run of the second half. So the number of firings
 * equals the number of runs, in any order of arrival.
 * @param sets in the order in which they were applied; must be called before their rows are written
 * @returns those values, each with the point at which the run begins
 */
export async function findCrossings<S extends SetValue>(tx: Tx, sets: readonly S[]): Promise<[S, Point][]> {
  const late = sets.filter((set) => !isNewest(set))
  const stored = late.length === 0 ? new Map<SetValue, Neighbours>() : await loadNeighbours(tx, late)
  const group = new Map<string, Map<number, number>>()
  const crossings: [S, Point][] = []
  for (const set of sets) {
    const place = `${set.rule.id} ${set.jobKey} ${set.series}`
    let known = group.get(place)
    if (known === undefined) {
      known = new Map()
      group.set(place, known)
    }
    const around: Neighbours = isNewest(set)
      ? { previous: set.before.last, next: undefined }
      : closest(set, known, entryOf(stored, set))
    if (begins(set, around)) {
      const here = { epoch: set.epoch, value: set.after }
      crossings.push([set, meets(required(set.rule.condition), set.after) ? here : (around.next ?? here)])
    }
    known.set(set.epoch, set.after)
  }
  return crossings
}

/** Whether it is after every other value of the series: nearly all are, and then nothing has to be read. */
const isNewest = ({ epoch, before: { last } }: SetValue): boolean => last === undefined || epoch > last.epoch

function begins({ rule, before, after }: SetValue, { previous, next }: Neighbours): boolean {
  const condition = required(rule.condition)
  const met = (value: number | undefined): boolean => value !== undefined && meets(condition, value)
  if (met(before.value) === met(after)) {
    // A new value that does not meet the condition: it may split a run.
    return before.value === undefined && !met(after) && met(previous?.value) && met(next?.value)
  }
  return met(after) ? !met(previous?.value) && !met(next?.value) : met(previous?.value) && met(next?.value)
}

/** The nearest values on both sides, from stored rows and from earlier events of the group. */
function closest(set: SetValue, group: Map<number, number>, { previous, next }: Neighbours): Neighbours {
  const around: Neighbours = { previous, next }
  for (const [epoch, value] of group) {
    if (epoch < set.epoch && epoch >= (around.previous?.epoch ?? Number.NEGATIVE_INFINITY)) {
      around.previous = { epoch, value }
    } else if (epoch > set.epoch && epoch <= (around.next?.epoch ?? Number.POSITIVE_INFINITY)) {
      around.next = { epoch, value }
    }
  }
  return around
}

async function loadNeighbours(tx: Tx, sets: SetValue[]): Promise<Map<SetValue, Neighbours>> {
  const rows = await byBatch(
    tx,
    sets.map((set, n) => ({ ...set, n })),
    (own, batch) => tx<
      {
        n: number
        previous_epoch: number | null
        previous: number | null
        next_epoch: number | null
        next: number | null
      }[]
    >`/* notifications.neighbours */
    select u.n, p.epoch previous_epoch, p.value previous, q.epoch next_epoch, q.value next
    from unnest(
      ${own.map((s) => s.n)}::int[], ${own.map((s) => s.batchKey)}::bigint[], ${own.map((s) => s.jobKey)}::bigint[],
      ${own.map((s) => highOf(s.epoch))}::int[], ${own.map((s) => lowOf(s.epoch))}::int[], ${own.map((s) => s.series + 1)}::int[]
    ) as u (n, batch_key, job_key, high, low, series)
    left join lateral (
      select e.epoch_high * 4294967296 + e.epoch epoch, e.vals[u.series] as value from epochs e
      where e.batch_key = ${batch} and e.job_key = u.job_key and (e.epoch_high, e.epoch) < (u.high, u.low) and e.vals[u.series] is not null
      order by e.epoch_high desc, e.epoch desc limit 1) p on true
    left join lateral (
      select e.epoch_high * 4294967296 + e.epoch epoch, e.vals[u.series] as value from epochs e
      where e.batch_key = ${batch} and e.job_key = u.job_key and (e.epoch_high, e.epoch) > (u.high, u.low) and e.vals[u.series] is not null
      order by e.epoch_high, e.epoch limit 1) q on true`,
  )
  const point = (epoch: number | null, value: number | null): Point | undefined =>
    epoch === null || value === null ? undefined : { epoch, value }
  return new Map(
    rows.map((row) => [
      itemAt(sets, row.n),
      { previous: point(row.previous_epoch, row.previous), next: point(row.next_epoch, row.next) },
    ]),
  )
}
