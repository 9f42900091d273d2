import { drawSeries, mainLosses, namesOfSeries, readSeries } from '../metrics/index.ts'
import type { Telemetry } from '../telemetry.ts'
import { type Curve, chartOf } from './chart.ts'
import type { Scene, Theme } from './scene.ts'

/** Jobs in one picture. */
export const MAX_JOBS_DRAWN = 20
/** Points of a curve: as many as the picture has pixels would be. */
const POINTS = 600

export interface BatchChartWish {
  batchKey: number
  /** What the picture calls the batch. */
  name: string
  /** Ids of its newest jobs, at most `MAX_JOBS_DRAWN`. */
  jobs: readonly string[]
  /** Whether it has more. */
  more: boolean
  /** The series, under the name that readers see; default: a loss. */
  key?: string | undefined
  /** What one step counts. */
  unit: string
  width: number
  height: number
  theme: Theme
  /** What readers see in place of a name or a text, as in an anonymous share. */
  nameOf?: (name: string) => string
}

export interface BatchChart {
  scene: Scene
  title: string
  /** Points that were read, for the budget of the caller. */
  points: number
}

/** The picture of one series of a batch; of a single job its loss in training and validation. */
export async function chartOfBatch(db: Telemetry, wish: BatchChartWish): Promise<BatchChart> {
  const { batchKey, jobs, nameOf = same } = wish
  const stored = jobs.length === 0 ? [] : (await namesOfSeries(db, batchKey, { jobs })).keys
  const keys = keysOf(wish, stored, nameOf)
  const curves: Curve[] = []
  let points = 0
  if (keys.length > 0)
    for await (const series of readSeries(db, batchKey, { keys, jobs })) {
      const drawn = drawSeries(series, { points: POINTS })
      if (drawn === undefined) continue
      points += drawn.totalPoints
      // The arrays of a series are valid only until the next one is read.
      curves.push({
        label: jobs.length === 1 ? nameOf(series.key) : series.jobId,
        steps: Float64Array.from(drawn.steps),
        values: Float64Array.from(drawn.values),
      })
    }
  const title = keys.length === 0 ? (wish.key ?? 'metrics') : keys.map(nameOf).join(', ')
  const some = wish.more ? ` · newest ${jobs.length} jobs` : ''
  const scene = chartOf({
    title,
    subtitle: wish.name + some,
    unit: wish.unit,
    curves,
    width: wish.width,
    height: wish.height,
    theme: wish.theme,
  })
  return { scene, title, points }
}

const same = (name: string): string => name

function keysOf(
  { key, jobs }: BatchChartWish,
  stored: readonly string[],
  nameOf: (name: string) => string,
): string[] {
  if (key !== undefined) return stored.filter((name) => nameOf(name) === key).slice(0, 1)
  const losses = mainLosses(stored)
  if (losses.length === 0) return stored.slice(0, 1)
  // Of many jobs one series is enough: that of the validation, if there is one.
  return jobs.length === 1 ? losses : losses.slice(-1)
}
