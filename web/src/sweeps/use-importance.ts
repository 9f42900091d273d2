import { useEffect, useRef, useState } from 'react'
import type { Compared } from '../charts/compared-jobs.ts'
import { type Axis, differs } from '../columns/axes.ts'
import { itemAt } from '../lib/checked.ts'
import type { Importance } from './forest.ts'
import type { ImportanceAnswer, ImportanceRequest } from './importance.worker.ts'

export interface ParameterImportance extends Pick<Importance, 'r2'> {
  metric: string
  /** The number of jobs with and without a number for the metric. */
  jobs: number
  without: number
  parameters: (Importance['columns'][number] & { axis: Axis })[]
}

/** While a sweep runs, it is computed again at most this often. */
const AGAIN_MS = 10_000

/** The importance of each varying parameter for the metric, highest first; undefined until computed. */
export function useImportance(
  rows: readonly Compared[],
  axes: readonly Axis[],
  metric: Axis | undefined,
): ParameterImportance | undefined {
  const [found, setFound] = useState<ParameterImportance>()
  const worker = useRef<Worker | undefined>(undefined)
  const lastRequest = useRef<{ id: number; of: string; at: number }>({ id: 0, of: '', at: 0 })
  useEffect(() => () => worker.current?.terminate(), [])
  useEffect(() => {
    if (metric === undefined) return
    const parameters = axes.filter((axis) => axis.id.startsWith('param.') && differs(axis))
    const ended = rows.filter((row) => Number.isFinite(metric.at(row)))
    const target = Float64Array.from(ended, (row) => Number(metric.at(row)))
    const of = JSON.stringify([
      metric.id,
      parameters.map((axis) => axis.id),
      rows.length,
      ended.length,
      target.reduce((a, b) => a + b, 0),
    ])
    if (of === lastRequest.current.of) return
    const ask = (): void => {
      const id = lastRequest.current.id + 1
      lastRequest.current = { id, of, at: Date.now() }
      const columns = parameters.map((axis) => ({
        values: Float64Array.from(ended, (row) => axis.at(row) ?? Number.NaN),
        categories: axis.words !== null,
      }))
      worker.current ??= new Worker(new URL('./importance.worker.ts', import.meta.url), { type: 'module' })
      worker.current.onmessage = ({ data }: MessageEvent<ImportanceAnswer>) => {
        if (data.id !== lastRequest.current.id) return
        const known = parameters.map((axis, i) => ({
          axis,
          ...itemAt(data.found.columns, i),
        }))
        setFound({
          metric: metric.id,
          r2: data.found.r2,
          jobs: ended.length,
          without: rows.length - ended.length,
          parameters: known.sort((a, b) => b.importance - a.importance),
        })
      }
      worker.current.postMessage({ id, columns, target } satisfies ImportanceRequest)
    }
    // Another metric is computed at once; more jobs of the same metric can wait.
    const same = lastRequest.current.of.startsWith(JSON.stringify([metric.id]).slice(0, -1))
    const wait = same ? Math.max(0, lastRequest.current.at + AGAIN_MS - Date.now()) : 0
    const timer = setTimeout(ask, wait)
    return () => clearTimeout(timer)
  }, [rows, axes, metric])
  return found?.metric === metric?.id ? found : undefined
}
