import { useMemo, useRef } from 'react'
import type { Comparison } from '../../charts/compared-jobs.ts'
import { useLabels } from '../../charts/curve-labels.ts'
import { type ColourOf, coloursOfRuns } from '../../lib/charts/colours.ts'

export interface RunsOfBatches {
  colourOf: ColourOf
  /** The name that a chosen colour is kept under: that of the batch's only job, else of the batch. */
  runOf: (batch: string) => string
  /** The name of the batch's curve; undefined if it has several. */
  curveOf: (batch: string) => string | undefined
}

/** The curve of each batch: a batch with one job has the colour of that job, another the colour of its first job. */
export function useRunsOfBatches(shown: readonly string[], found: Comparison | undefined): RunsOfBatches {
  const labels = useLabels(found)
  const jobs = useMemo(() => {
    const byBatch = new Map<string, { id: string; key: string }[]>()
    for (const { batch, job } of found?.rows ?? [])
      byBatch.set(batch.id, [...(byBatch.get(batch.id) ?? []), { id: job.id, key: job.key }])
    return byBatch
  }, [found])
  const latest = useRef({ shown, jobs })
  latest.current = { shown, jobs }
  const colours = useMemo(() => {
    const runOf = (batch: string): string => {
      const [only, ...more] = latest.current.jobs.get(batch) ?? []
      return only === undefined || more.length > 0 ? batch : only.id
    }
    const keyOf = (batch: string): string | undefined => latest.current.jobs.get(batch)?.[0]?.key
    return { runOf, colourOf: coloursOfRuns(() => latest.current.shown, keyOf, runOf) }
  }, [])
  return useMemo(() => ({ ...colours, curveOf: labels.curveOf }), [colours, labels])
}
