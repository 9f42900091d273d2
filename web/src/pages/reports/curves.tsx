import { useMemo, useRef, useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { ChartCard } from '../../charts/chart-card.tsx'
import type { Job } from '../../lib/api/batches.ts'
import { mainSeries } from '../../lib/main-series.ts'
import { stepUnit } from '../../lib/step-unit.ts'
import { useTheme } from '../../lib/theme.ts'
import { count } from '../../lib/words.ts'
import { useJobs } from '../batch/use-jobs.ts'

const MAX_CURVES = 20
const MAX_NAMED = 8

/** The names of the series of jobs. */
export const seriesOf = (jobs: readonly Job[]): string[] =>
  [...new Set(jobs.flatMap((job) => Object.keys(job.latest)))].filter((name) => name !== 'epoch')

/** Charts of a run in a report: of these series, or of its main one. */
export function Curves({ wanted }: { wanted: readonly string[] }) {
  const context = useBatchContext()
  const jobs = useJobs(context.jobs)
  const known = seriesOf(jobs)
  const first = mainSeries(known)
  const keys = wanted.length > 0 ? wanted.filter((name) => known.includes(name)) : first ? [first] : []
  const missing = wanted.filter((name) => !known.includes(name))
  // Those that have a curve.
  const curved = jobs.filter(({ latest }) => keys.some((key) => latest[key] !== undefined))
  const shown = curved.slice(0, MAX_CURVES)
  return (
    <figure className="flex flex-col gap-2">
      {missing.length > 0 && known.length > 0 && (
        <p role="status" className="text-amber">
          No job has {missing.join(', ')}. There {known.length === 1 ? 'is' : 'are'}{' '}
          {known.slice(0, MAX_NAMED).join(', ')}
          {known.length > MAX_NAMED && ` and ${count(known.length - MAX_NAMED)} more`}.
        </p>
      )}
      {known.length === 0 && <p className="text-muted">No point has been reported yet.</p>}
      <Cards keys={keys} jobs={shown} />
      <Legend jobs={shown} all={curved.length} />
    </figure>
  )
}

/** A chart of each series; all have the same zoom. */
function Cards({ keys, jobs }: { keys: readonly string[]; jobs: readonly Job[] }) {
  const context = useBatchContext()
  const [zoom, setZoom] = useState<[number, number]>()
  const zooms = useRef<([number, number] | undefined)[]>([])
  const names = jobs.map((job) => job.id).join('\n')
  const drawn = useMemo(() => (names === '' ? [] : names.split('\n')), [names])
  return (
    <div className="grid gap-3 [grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr))]">
      {keys.map((key) => (
        <ChartCard
          key={key}
          name={key}
          x="epoch"
          unit={stepUnit(jobs, key)}
          of={context.of}
          source={context.source}
          bus={context.bus}
          focus={context.focus}
          colourOf={context.colourOf}
          log={false}
          smooth={0}
          jobs={drawn}
          whole={false}
          zoom={zoom}
          onZoom={(range) => {
            zooms.current.push(zoom)
            setZoom(range)
          }}
          onZoomOut={() => setZoom(zooms.current.pop())}
        />
      ))}
    </div>
  )
}

function Legend({ jobs, all }: { jobs: readonly Job[]; all: number }) {
  const { colourOf } = useBatchContext()
  const theme = useTheme()
  return (
    <figcaption className="flex flex-wrap gap-x-3 gap-y-0.5 text-xs text-muted">
      {jobs.map((job) => (
        <span key={job.id} className="flex items-center gap-1">
          <span
            aria-hidden="true"
            className="size-2 rounded-full"
            style={{ background: colourOf(job.id, theme) }}
          />
          {job.id}
        </span>
      ))}
      {all > jobs.length && (
        <span>
          the first {MAX_CURVES} of {count(all)} jobs
        </span>
      )}
    </figcaption>
  )
}
