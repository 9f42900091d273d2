import type { Axis } from '../columns/axes.ts'
import { lessIsBetter } from '../lib/batch-query.ts'
import type { Theme } from '../lib/theme.ts'
import { viridis } from './viridis.ts'

export const isLessBetter = (metric: Axis): boolean =>
  lessIsBetter(metric.id.slice(metric.id.indexOf('.') + 1))

/** The colour of a place between the least and the greatest value of the metric: the best end is the bright one. */
export const metricColour = (metric: Axis, share: number, theme: Theme): string =>
  viridis(isLessBetter(metric) ? 1 - share : share, theme)
