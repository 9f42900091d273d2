import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import type { JobDelivery } from '../../lib/api/control.ts'
import { links } from '../../lib/links.ts'
import { unitsOf } from '../../lib/step-unit.ts'
import { count, number } from '../../lib/words.ts'
import { Name, wholeName } from '../../ui/name.tsx'

const ROW_PX = 32

/** Whether epochs of the job are missing, in between or at its end. */
export const hasMissingEpochs = (job: JobDelivery): boolean =>
  job.missing > 0 || (job.said_epochs !== null && job.epochs < job.said_epochs)

const headsOf = (counted: string) =>
  [
    ['Job', 'w-56'],
    [`${counted} stored`, 'w-28'],
    ['First to last', 'w-32'],
    ['Reported at end', 'w-32'],
    ['Missing', 'w-80'],
  ] as const

/** The stored epochs of each job, and those that are missing. */
export function JobReceipts(props: {
  rows: readonly JobDelivery[]
  batchId: string
  /** What the epochs are called as a number: Epochs or Points. */
  counted: string
  /** The unit of their steps. */
  unit: string
}) {
  const { rows, batchId, counted, unit } = props
  const heads = headsOf(counted)
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  })
  return (
    <div
      ref={scroller}
      role="table"
      aria-label={`${counted} of each job`}
      data-scroll-restoration-id={`receipts of ${batchId}`}
      aria-rowcount={rows.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="fade-end max-h-[60vh] overflow-auto border-y border-line"
    >
      <div role="rowgroup" className="sticky top-0 z-[1] min-w-max bg-surface">
        <div role="row" className="flex h-8 items-center text-xs text-muted">
          {heads.map(([head, width]) => (
            <span key={head} role="columnheader" className={`${width} shrink-0 px-2`}>
              {head}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="relative min-w-max" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const job = rows[index]
          if (job === undefined) return null
          const short = job.said_epochs !== null && job.epochs < job.said_epochs
          const cells = [
            <Link
              key="id"
              {...links.job(batchId, job.job_id)}
              data-open
              title={job.job_id}
              aria-label={wholeName(job.job_id)}
              className="hover:underline"
            >
              <Name>{job.job_id}</Name>
            </Link>,
            count(job.epochs),
            job.first_epoch === null ? '–' : `${number(job.first_epoch)} to ${number(job.last_epoch)}`,
            job.said_epochs === null ? '–' : count(job.said_epochs),
            <span
              key="gaps"
              className={hasMissingEpochs(job) ? 'text-amber' : 'text-muted'}
              title={gapsText(job, unit)}
            >
              {hasMissingEpochs(job)
                ? job.missing > 0
                  ? `${count(job.missing)}: ${gapsText(job, unit)}`
                  : short
                    ? `${count((job.said_epochs ?? 0) - job.epochs)} at an end of it`
                    : ''
                : 'none'}
            </span>,
          ]
          return (
            <div
              key={job.job_id}
              role="row"
              data-row
              aria-rowindex={index + 2}
              className="absolute top-0 left-0 flex w-full items-center border-t border-line"
              style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
            >
              {cells.map((cell, i) => (
                <span key={heads[i]?.[0]} role="cell" className={`${heads[i]?.[1]} shrink-0 truncate px-2`}>
                  {cell}
                </span>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function gapsText(job: JobDelivery, unit: string): string {
  const ranges = job.gaps.map(([from, to]) => (from === to ? number(from) : `${number(from)}–${number(to)}`))
  const every = job.every !== null && job.every > 1 ? ` (every ${job.every})` : ''
  return ranges.length === 0 ? '' : `${job.missing === 1 ? unit : unitsOf(unit)} ${ranges.join(', ')}${every}`
}
