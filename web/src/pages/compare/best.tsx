import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Compared } from '../../charts/compared-jobs.ts'
import { errorText } from '../../lib/api/request.ts'
import type { SeriesSource } from '../../lib/api/series.ts'
import { batchName } from '../../lib/batch-name.ts'
import { lessIsBetter } from '../../lib/batch-query.ts'
import type { ColourOf } from '../../lib/charts/colours.ts'
import { links } from '../../lib/links.ts'
import type { Focus } from '../../lib/live/focus.ts'
import { useTheme } from '../../lib/theme.ts'
import { count, fixedLike, number, some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { StatusBadge } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'

/** Sampling always keeps the minimum and the maximum, so few points suffice. */
const POINTS = 16
const FIRST = 20

/** The best epoch of each job, best job first. */
export function BestEpochs(props: {
  of: string
  metric: string
  rows: readonly Compared[]
  source: SeriesSource
  colourOf: ColourOf
  focus: Focus
}) {
  const { metric, rows, source, colourOf, focus } = props
  const theme = useTheme()
  const [all, setAll] = useState(false)
  const less = lessIsBetter(metric)
  const best = useQuery({
    queryKey: ['best', props.of, metric],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const series = await source({ keys: [metric], points: POINTS }, signal)
      return new Map(
        series.flatMap(({ job_id, steps, values }): [string, { epoch: number; value: number }][] => {
          let at = -1
          for (const [i, value] of values.entries()) {
            const now = Number(value)
            if (!Number.isFinite(now)) continue
            if (at < 0 || (less ? now < Number(values[at]) : now > Number(values[at]))) at = i
          }
          const epoch = steps[at]
          return epoch === undefined ? [] : [[String(job_id), { epoch, value: Number(values[at]) }]]
        }),
      )
    },
  })
  if (best.error) return <Failure>{errorText(best.error)}</Failure>
  if (best.data === undefined) return <Waiting rows={3} />
  const found = best.data
  const order = [...rows].sort((a, b) => {
    const [x, y] = [found.get(a.name)?.value, found.get(b.name)?.value]
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? 1 : -1
    return less ? x - y : y - x
  })
  const valueText = fixedLike([...found.values()].map((one) => one.value))
  const without = order.filter((row) => !found.has(row.name)).length
  return (
    <div className={best.isPlaceholderData ? 'refreshing' : ''} aria-busy={best.isPlaceholderData}>
      <Table
        heads={['', 'Job', 'Batch', 'Status', `best.${metric}`, 'At epoch', `last.${metric}`]}
        numeric={[`best.${metric}`, 'At epoch', `last.${metric}`]}
        label="Best epochs"
      >
        {order.slice(0, all ? undefined : FIRST).map((row, i) => {
          const one = found.get(row.name)
          return (
            <tr
              key={row.name}
              data-best={row.name}
              onPointerEnter={() => focus.set(row.name)}
              onPointerLeave={() => focus.set(null)}
            >
              <td>
                <span
                  className="inline-block size-2.5 rounded-full"
                  style={{ background: colourOf(row.name, theme) }}
                  aria-hidden="true"
                />{' '}
                <span className="text-muted">{i + 1}</span>
              </td>
              <td>
                <Link {...links.job(row.batch.id, row.job.id)} className="font-medium hover:underline">
                  {row.job.id}
                </Link>
              </td>
              <td>
                <Link {...links.batch(row.batch.id)} className="text-muted hover:underline">
                  {batchName(row.batch)}
                </Link>
              </td>
              <td>
                <StatusBadge status={row.job.status} />
              </td>
              <td className="text-right font-medium">{valueText(one?.value)}</td>
              <td className="text-right">{number(one?.epoch)}</td>
              <td className="text-right">{valueText(row.job.latest[metric])}</td>
            </tr>
          )
        })}
      </Table>
      {without > 0 && <p className="pt-1 text-xs text-muted">{some(without, 'job')} without a value.</p>}
      {order.length > FIRST && (
        <Button look="quiet" onClick={() => setAll(!all)}>
          {all ? 'Show the first 20' : `Show all ${count(order.length)}`}
        </Button>
      )}
    </div>
  )
}
