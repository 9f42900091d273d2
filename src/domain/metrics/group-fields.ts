import { z } from 'zod'
import { writeNumber } from '../events/index.ts'
import { type Fields, float, int, listOf, nullable, number, text, type ViewOf } from '../field.ts'
import type { Group } from './groups.ts'

/** A number as JSON writes it. */
export const chartNumber = {
  ...number,
  shape: z.union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity'])]),
}
const numbers = listOf(chartNumber)

/** One series over all jobs that have a value in common, bucket by bucket of the x-axis. */
export const groupFields = {
  group: {
    type: nullable(text),
    means: 'The shared value as text; null for jobs without one',
    public: 'shown',
  },
  key: { type: text, public: 'shown' },
  jobs: { type: int, public: 'shown' },
  steps: {
    type: listOf(float),
    means: 'First epoch, second or value of each bucket, by the x-axis',
    public: 'shown',
  },
  ends: { type: listOf(float), means: 'Last epoch, second or value of each bucket', public: 'shown' },
  mean: { type: numbers, public: 'shown' },
  std: { type: numbers, means: 'Population standard deviation', public: 'shown' },
  min: { type: numbers, public: 'shown' },
  max: { type: numbers, public: 'shown' },
  n: { type: listOf(int), means: 'Finite values in the bucket', public: 'shown' },
  total_points: { type: int, public: 'shown' },
  non_finite: { type: int, public: 'shown' },
} as const satisfies Fields

export type GroupView = ViewOf<typeof groupFields>

export const groupView = ({ starts, totalPoints, nonFinite, ...one }: Group): GroupView => ({
  group: one.group,
  key: one.key,
  jobs: one.jobs,
  steps: Array.from(starts),
  ends: Array.from(one.ends),
  mean: Array.from(one.mean, writeNumber),
  std: Array.from(one.std, writeNumber),
  min: Array.from(one.min, writeNumber),
  max: Array.from(one.max, writeNumber),
  n: Array.from(one.n),
  total_points: totalPoints,
  non_finite: nonFinite,
})

/** The part of the y-axis that leaves out at most a share of the points at either end. */
export const clipFields = {
  key: { type: text, public: 'shown' },
  low: { type: nullable(chartNumber), public: 'shown' },
  high: { type: nullable(chartNumber), public: 'shown' },
  hidden: {
    type: int,
    means: 'Finite points below `low` or above `high`, of all points in the range',
    public: 'shown',
  },
} as const satisfies Fields
