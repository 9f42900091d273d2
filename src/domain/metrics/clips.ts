import type { Telemetry } from '../telemetry.ts'
import { type Clip, createPercentiles, type Percentiles } from './clipping.ts'
import { type Drawing, drawSeries, reading } from './drawing.ts'
import { readSeries } from './read-series.ts'
import type { SeriesQuery } from './series-names.ts'

/** A clip of one series of a batch. */
export interface NamedClip extends Clip {
  key: string
}

/**
 * The clips of several batches, by the key of the batch. Batches are read one after the other, so that only the
 * percentiles of one are in memory.
 * @param share the share of points to leave out at either end
 */
export async function clipsOfBatches(
  db: Telemetry,
  batches: readonly number[],
  query: SeriesQuery & Drawing,
  share: number,
): Promise<Map<number, NamedClip[]>> {
  const found = new Map<number, NamedClip[]>(batches.map((key) => [key, []]))
  const counted = new Map<string, Percentiles>()
  let current: number | undefined
  const close = (): void => {
    if (current !== undefined)
      for (const [key, percentiles] of counted) found.get(current)?.push({ key, ...percentiles.clip(share) })
    counted.clear()
  }
  const wanted = { keys: query.keys, jobs: query.jobs, ...reading(query) }
  for await (const series of readSeries(db, { batches }, wanted)) {
    const shown = drawSeries(series, query)
    if (shown === undefined) continue
    // Formulas come after all stored series, so a batch may come twice, each time with other series.
    if (series.batchKey !== current) close()
    current = series.batchKey
    const percentiles = counted.get(series.key) ?? createPercentiles()
    counted.set(series.key, percentiles)
    percentiles.add(shown.inRange)
  }
  close()
  return found
}
