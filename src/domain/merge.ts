/**
 * Fields that several events may set, in any order of arrival (contract §1): field by field the event with the
 * greatest stamp wins, so every permutation and every repetition of the same events ends in the same values.
 */
export interface Merged<V = unknown> {
  values: Record<string, V>
  /** The stamp of every field that `stamps` does not name. */
  stamp: string
  /** Set once a second event was merged. */
  stamps?: Record<string, string>
}

/**
 * @param merged the fields so far, null before the first event; not changed
 * @param values the fields of one event
 * @param stamp that event's stamp (`stampOf`)
 */
export function mergeFields<V>(
  merged: Merged<V> | null,
  values: Record<string, V>,
  stamp: string,
): Merged<V> {
  if (merged === null) return { values: bare(values), stamp }
  const stamps = bare(merged.stamps ?? {})
  const result: Merged<V> = { values: bare(merged.values), stamp: merged.stamp, stamps }
  for (const [name, value] of Object.entries(values)) {
    const known = Object.hasOwn(merged.values, name) ? (stamps[name] ?? merged.stamp) : ''
    if (stamp > known) {
      result.values[name] = value
      stamps[name] = stamp
    }
  }
  return result
}

/** A copy without a prototype, so that `__proto__` is a name like any other. */
function bare<V>(values: Record<string, V>): Record<string, V> {
  const copy: Record<string, V> = Object.create(null)
  return Object.assign(copy, values)
}

/**
 * The order of events that say the same thing: time, then (a start and an end within one second of a coarse clock)
 * ends after starts, then event_id.
 * @param at canonical instant
 */
export const stampOf = (at: string, ends: boolean, eventId: string): string =>
  `${at}|${ends ? 1 : 0}|${eventId}`
