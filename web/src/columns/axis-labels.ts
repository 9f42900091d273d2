import { drawable, type Range, shareIn } from '../lib/charts/axis-range.ts'
import { logTicks, numberTicks } from '../lib/charts/axis-ticks.ts'
import { tickTexts } from '../lib/charts/tick-text.ts'
import { number } from '../lib/words.ts'
import { type Axis, rangeOf } from './axes.ts'

/** Numbers of this size are written with an exponent. */
const MAX_PLAIN = 1e5

export interface AxisLabels {
  labels: readonly { at: number; text: string }[]
  /** The labels of numbers are distances from it. */
  offset: string | null
}

/**
 * The labels along an axis of compared jobs: the categories, the values of a parameter that has few, or round numbers.
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
  const own = ownLabels(axis, most, range)
  if (own.length > 1) return { labels: own, offset: null }
  // A single value needs no ticks beside it.
  const places =
    axis.low === axis.high ? [axis.low] : (log ? logTicks : numberTicks)(drawable(range, { log }), most)
  const { texts, offset } = tickTexts(places, { log, most: MAX_PLAIN })
  return { labels: places.map((at, i) => ({ at, text: texts[i] ?? '' })), offset }
}

/** Labels an axis with the few values of its parameter, and leaves out values too close to the previous label. */
function ownLabels({ values = [], log }: Axis, most: number, range: Range): AxisLabels['labels'] {
  let end = Number.NEGATIVE_INFINITY
  return values
    .filter((value) => {
      if (value < range[0] || value > range[1] || range[0] === range[1]) return false
      const share = shareIn(range, value, log)
      if (share - end < 1 / (2 * most)) return false
      end = share
      return true
    })
    .map((at) => ({ at, text: number(at) }))
}
