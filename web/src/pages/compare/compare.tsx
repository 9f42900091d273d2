import { useQueries } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'
import { metricsOf, type SeriesSource } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { Batch, Job } from '../../lib/api/types.ts'
import { coloursAmong } from '../../lib/charts/colours.ts'
import { links } from '../../lib/links.ts'
import { createFocus } from '../../lib/live/focus.ts'
import { createPointBus } from '../../lib/live/points.ts'
import { batchQuery, jobsQuery } from '../../lib/queries.ts'
import { number } from '../../lib/words.ts'
import { Choice } from '../../ui/controls.tsx'
import { Notice, Waiting } from '../../ui/notice.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { ChartCard } from '../batch/chart-card.tsx'
import { bestOf, factsOf } from './facts.ts'

const route = getRouteApi('/compare')
const JOBS_OF_ONE = 20

/** Batches side by side: their curves in one chart, and what differs between them. */
export function Compare() {
  const { batches: ids, key } = route.useSearch()
  const navigate = useNavigate()
  const batches = useQueries({ queries: ids.map((id) => batchQuery(id)) })
  const jobs = useQueries({ queries: ids.map((id) => jobsQuery(id)) })
  const curves = useRef<readonly string[]>([])
  const view = useMemo(
    () => ({
      bus: createPointBus(),
      focus: createFocus(),
      colourOf: coloursAmong(() => curves.current),
    }),
    [],
  )
  const [zoom, setZoom] = useState<[number, number] | undefined>()
  const zooms = useRef<[number, number][]>([])
  const of = ids.join('\n')
  // Jobs of different batches may have one name: a curve is called by both.
  const source = useMemo<SeriesSource>(
    () => async (wanted, signal) => {
      const all = await Promise.all(
        of.split('\n').map(async (id) => {
          const mine = wanted.jobs?.flatMap((job) =>
            job.startsWith(`${id} / `) ? job.slice(id.length + 3) : [],
          )
          const found = await metricsOf(id)({ ...wanted, jobs: mine }, signal)
          return found.map((one) => ({ ...one, job_id: `${id} / ${one.job_id}` }))
        }),
      )
      return all.flat()
    },
    [of],
  )
  const loaded = jobs.every((one) => one.data) && batches.every((one) => one.data)
  const list = loaded
    ? ids.flatMap((id, i) => (jobs[i]?.data ?? []).slice(0, JOBS_OF_ONE).map((job) => `${id} / ${job.id}`))
    : []
  const text = list.join('\n')
  // One list as long as it names the same curves.
  const names = useMemo(() => (text === '' ? [] : text.split('\n')), [text])
  curves.current = names
  const failed = [...batches, ...jobs].find((one) => one.error)?.error
  if (ids.length === 0) {
    return <Notice title="Nothing to compare">Select batches in a project, then choose Compare.</Notice>
  }
  if (failed) return <Notice title={sayWhy(failed)} bad />
  if (!loaded) return <Waiting />
  const keys = [...new Set(jobs.flatMap((one) => (one.data ?? []).flatMap((job) => Object.keys(job.latest))))]
    .filter((one) => one !== 'epoch')
    .sort()
  const chosen = key ?? (keys.includes('val_loss') ? 'val_loss' : keys[0])
  const rows = factsOf(
    batches.flatMap((one) => one.data ?? []),
    jobs.map((one) => one.data ?? []),
  )
  return (
    <Sheet title={`Compare ${ids.length} batches`}>
      {chosen === undefined ? (
        <p className="text-muted">None of them has reported an epoch.</p>
      ) : (
        <>
          <Choice
            label="Series"
            value={chosen}
            onChange={(next) =>
              void navigate({ ...links.compare(ids), search: { batches: ids, key: next }, replace: true })
            }
            options={keys.map((one) => [one, one] as const)}
          />
          <ChartCard
            x="epoch"
            of={`compare ${of}`}
            source={source}
            {...view}
            log={false}
            smooth={0}
            zoom={zoom}
            onZoom={(range) => {
              if (zoom) zooms.current.push(zoom)
              setZoom(range)
            }}
            onZoomOut={() => setZoom(zooms.current.pop())}
            name={chosen}
            jobs={names}
            whole={false}
          />
          <p className="text-xs text-muted">The first {JOBS_OF_ONE} jobs of each batch are drawn.</p>
        </>
      )}
      <Best
        batches={batches.flatMap((one) => one.data ?? [])}
        jobs={jobs.map((one) => one.data ?? [])}
        metric={chosen}
      />
      <h2 className="font-semibold">What differs</h2>
      {rows.length === 0 && <p className="text-muted">Nothing that they reported.</p>}
      {rows.length > 0 && (
        <Table heads={['Field', ...ids]} label="What differs">
          {rows.map(([name, values]) => (
            <tr key={name}>
              <td className="text-muted">{name}</td>
              {values.map((value, i) => (
                <td key={ids[i]} className="max-w-80 truncate" title={value}>
                  {value}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </Sheet>
  )
}

function Best(props: {
  batches: readonly Batch[]
  jobs: readonly (readonly Job[])[]
  metric: string | undefined
}) {
  const { batches, jobs, metric } = props
  return (
    <Table heads={['Batch', 'Status', 'Best job now', metric ?? 'series', 'Jobs']} label="Best jobs">
      {batches.map((batch, i) => {
        const best = metric === undefined ? null : bestOf(jobs[i] ?? [], metric)
        return (
          <tr key={batch.id}>
            <td>
              <Link {...links.batch(batch.id)} className="hover:underline">
                {batch.id}
              </Link>
            </td>
            <td>
              <StatusBadge status={batch.status} />
            </td>
            <td>
              {best && (
                <Link {...links.batch(batch.id, { solo: best.job.id })} className="hover:underline">
                  {best.job.id}
                </Link>
              )}
            </td>
            <td>{best && number(best.value)}</td>
            <td>{jobs[i]?.length}</td>
          </tr>
        )
      })}
    </Table>
  )
}
