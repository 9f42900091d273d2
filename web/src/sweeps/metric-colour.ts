import { lessIsBetter } from '../lib/batch-query.ts'
import type { Theme } from '../lib/theme.ts'
import type { Axis } from '../pages/compare/axes.ts'
import { viridis } from './viridis.ts'

export const isLessBetter = (metric: Axis): boolean =>
  lessIsBetter(metric.id.slice(metric.id.indexOf('.') + 1))

/**
 * The colour of a place between the least and the greatest value of the metric. The best value has the colour that stands
 * out most: violet on white, yellow on black.
 */
export function metricColour(metric: Axis, share: number, theme: Theme): string {
  const leastStandsOut = theme === 'light'
  return viridis(isLessBetter(metric) === leastStandsOut ? share : 1 - share, theme)
}
