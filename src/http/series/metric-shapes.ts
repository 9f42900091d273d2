import { z } from 'zod'
import { shapeOf } from '../../domain/field.ts'
import { groupValueOf } from '../../domain/lists/index.ts'
import {
  chartNumber,
  clipFields,
  type Drawing,
  type Group,
  groupFields,
  groupView,
  MIN_POINTS,
} from '../../domain/metrics/index.ts'
import { isStep, STEP_RANGE } from '../../domain/step.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { numberText } from '../request/number-text.ts'
import type { byId } from '../request/shapes.ts'

const number = chartNumber.shape
export const seriesShape = z.object({
  job_id: z.string(),
  key: z.string(),
  steps: z.array(z.int()).describe('Epochs, increasing'),
  values: z.array(number),
  total_points: z.int().describe('Points in the range'),
  returned_points: z.int(),
  sampled: z.boolean(),
  non_finite: z.int().describe('Points in the range that are NaN or infinite'),
})
export const metricShape = seriesShape.extend({
  times: z
    .array(z.number())
    .optional()
    .describe('On a time axis: seconds, never decreasing. The epochs are in the order of their times'),
  x_values: z
    .array(z.number())
    .optional()
    .describe('With `x_key`: its values, never decreasing. The epochs are in the order of these values'),
  smoothed: z
    .array(number)
    .optional()
    .describe('With `smooth`, the mean at each point; "NaN" where there is none'),
  smoothing: z
    .object({ mean: number, mass: number })
    .optional()
    .describe(
      'The state of the mean after the last point: a next value v makes mean·w + v·(1−w) and mass·w + (1−w), and the smoothed value is mean ÷ mass',
    ),
})
export const groupName = z
  .string()
  .refine((text) => isStorable(text) && groupValueOf(text) !== undefined, 'must be a name as in queries')
  .describe('A name as in queries: a field, a parameter, a value of the configuration, a metric, or `batch`')
export const groupsShape = () =>
  z.object({
    groups: z.array(shapeOf(groupFields)),
    unknown_names: z
      .array(z.string())
      .optional()
      .describe('The name of the field, if no job with a series has a value'),
  })
/** The answer of a route for groups. */
export const groupsAnswer = (name: string, groups: readonly Group[]) => ({
  groups: groups.map(groupView),
  ...(groups.length > 0 && groups.every(({ group }) => group === null) && { unknown_names: [name] }),
})
export const points = numberText(z.int().min(MIN_POINTS).max(1_000_000))
  .optional()
  .describe('Maximum number of points per series; longer series are sampled. Without it: every point')
const scale = z.enum(['linear', 'log']).default('linear')
const place = numberText(z.number()).optional()

/** Axes, range and smoothing: the parameters that charts of one batch and of many have in common. */
export const axesQuery = {
  points,
  from: place.describe('First epoch; on a time axis the first second, with `x_key` its lowest value'),
  to: place.describe('Last epoch, second or value'),
  x: z
    .enum(['epoch', 'relative', 'wall'])
    .default('epoch')
    .describe("The x-axis: epochs, seconds since the job's start, or Unix seconds"),
  x_key: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'Instead of `x`: the x-axis is the values of this series of the same job, joined by epoch. Epochs without a finite value of that series are left out.',
    ),
  x_scale: scale.describe(
    'log: buckets have equal width on a logarithmic x-axis; points at or below 0 are left out',
  ),
  y_scale: scale.describe(
    'log: each bucket keeps its lowest value above 0, and its first value at or below 0',
  ),
  smooth: numberText(z.number().min(0).max(0.9999))
    .optional()
    .describe('Weight of the past in a debiased exponential mean over every point'),
}
/** Epochs are whole; seconds may have fractions; values of a series are any numbers. */
export function placesOnAxis(
  query: { x: string; x_key?: string | undefined; from?: number | undefined; to?: number | undefined },
  issues: z.core.$RefinementCtx,
): void {
  const refuse = (path: string, message: string): void =>
    issues.addIssue({ code: 'custom', path: [path], message })
  if (query.x_key !== undefined) {
    if (query.x !== 'epoch') refuse('x_key', 'takes the place of x: leave x out')
    return
  }
  for (const path of ['from', 'to'] as const) {
    const value = query[path]
    if (value === undefined) continue
    if (query.x === 'epoch' ? !isStep(value) : !(value >= -2_147_483_648 && value <= LAST_SECOND))
      refuse(path, query.x === 'epoch' ? STEP_RANGE : 'is out of range for a time axis')
  }
}

/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799

export const clipShape = shapeOf(clipFields)

export type Asked<Query> = { Params: z.output<typeof byId>; Querystring: Query }

type Axes = z.output<z.ZodObject<typeof axesQuery>>
export const drawingOf = (query: Axes): Drawing => ({
  points: query.points,
  from: query.from,
  to: query.to,
  x: query.x,
  xKey: query.x_key,
  xLog: query.x_scale === 'log',
  yLog: query.y_scale === 'log',
  smooth: query.smooth,
})
