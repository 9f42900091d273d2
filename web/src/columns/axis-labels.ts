import { drawable, type Range } from '../lib/charts/axis-range.ts'
import { logTicks, numberTicks } from '../lib/charts/axis-ticks.ts'
import { tickTexts } from '../lib/charts/tick-text.ts'
import { type Axis, rangeOf } from './axes.ts'

/** Numbers of this size are written with an exponent. */
const MAX_PLAIN = 1e5

export interface AxisLabels {
  labels: readonly { at: number; text: string }[]
  /** The labels of numbers are distances from it. */
  offset: string | null
}

/**
 * The labels along an axis of compared jobs: the categories, or round numbers.
 * @param most labels that have space
 */
export function axisLabels(axis: Axis, most: number, range: Range = rangeOf(axis)): AxisLabels {
  const { words, log } = axis
  if (words !== null) {
    const every = Math.ceil(words.length / Math.max(2, most))
    const labels = words.map((text, at) => ({ at, text })).filter(({ at }) => at % every === 0)
    return { labels, offset: null }
  }
  if (!(range[0] <= range[1])) return { labels: [], offset: null }
  // A single value needs no ticks beside it.
  const places =
    axis.low === axis.high ? [axis.low] : (log ? logTicks : numberTicks)(drawable(range, { log }), most)
  const { texts, offset } = tickTexts(places, { log, most: MAX_PLAIN })
  return { labels: places.map((at, i) => ({ at, text: texts[i] ?? '' })), offset }
}
