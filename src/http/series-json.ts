import type { Sampled } from '../domain/metrics/index.ts'

export interface ShownSeries extends Sampled {
  jobId: string | null
  key: string
  /** ISO times of the points, where the x-axis is time. */
  timestamps?: string[]
}

/** `{"series": [...]}` piece by piece, so that the size of the answer does not matter. */
export async function* seriesJson(series: AsyncIterable<ShownSeries>): AsyncGenerator<string> {
  let text = '{"series":['
  let first = true
  for await (const one of series) {
    text += first ? '\n' : ',\n'
    first = false
    text += oneSeries(one)
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield `${text}]}\n`
}

function oneSeries(one: ShownSeries): string {
  // Joining typed arrays writes numbers as JSON does, and is the quickest way to.
  const values =
    one.nonFinite === 0
      ? one.values.join()
      : Array.from(one.values, (v) => (Number.isFinite(v) ? v : `"${v}"`)).join()
  const timestamps = one.timestamps === undefined ? '' : `"timestamps":${JSON.stringify(one.timestamps)},`
  return (
    `{"job_id":${JSON.stringify(one.jobId)},"key":${JSON.stringify(one.key)},` +
    `"steps":[${one.steps.join()}],${timestamps}"values":[${values}],"total_points":${one.totalPoints},` +
    `"returned_points":${one.returnedPoints},"sampled":${one.sampled},"non_finite":${one.nonFinite}}`
  )
}
