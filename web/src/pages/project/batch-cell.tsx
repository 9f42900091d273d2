import type { Batch } from '../../lib/api/batches.ts'
import { elapsedOf, endOf } from '../../lib/live/batches.ts'
import { clock, duration, etaText } from '../../lib/words.ts'
import { Progress } from '../../ui/controls.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { type Baseline, type Delta, deltaOf } from './baseline.ts'
import { type Column, fieldLabel } from './table-columns.ts'
import type { FieldRow } from './use-batch-list.ts'

/** A cell of the project table. */
export function BatchCell(props: {
  column: Column
  batch: Batch
  fields: FieldRow | undefined
  baseline?: Baseline | undefined
  tagHref: (tag: string) => string
  now: number
}) {
  const { column, batch, fields } = props
  switch (column.id) {
    case 'progress':
      return <Progress batch={batch} />
    case 'elapsed':
      return duration(elapsedOf(batch, props.now))
    case 'eta':
      return <Eta batch={batch} fields={fields} />
    case 'owner':
      return batch.owner?.name
    case 'host':
      return batch.host
    case 'tags':
      return batch.tags.map((tag) => (
        <a
          key={tag}
          href={props.tagHref(tag)}
          title={`Filter by ${tag}`}
          className="mr-1 rounded border border-line bg-surface px-1.5 text-xs text-muted hover:text-ink"
        >
          {tag}
        </a>
      ))
    case 'started_at':
      return <RelativeTime at={batch.started_at} />
    case 'last_seen_at':
      return <RelativeTime at={batch.last_seen_at} />
    case 'type':
      return batch.experiment_type
    case 'failed':
      return batch.n_failed > 0 && <span className="text-failed">{batch.n_failed}</span>
    case 'user':
      return batch.user
    case 'commit':
      return <span className="font-mono text-xs">{batch.commit?.slice(0, 8)}</span>
    case 'notes':
      return batch.notes
    default: {
      const value = fields?.values[column.id]
      if (value === undefined) return <span className="text-muted">–</span>
      const { baseline } = props
      if (baseline === undefined || baseline.id === batch.id) return fieldLabel(value)
      return (
        <>
          {fieldLabel(value)}
          <DeltaText delta={deltaOf(column.id, value, baseline.values[column.id])} />
        </>
      )
    }
  }
}

/** The difference from the baseline, with its meaning as text for users who cannot distinguish the colours. */
function DeltaText({ delta }: { delta: Delta | null }) {
  if (delta === null) return null
  const { text, isBetter } = delta
  const look = isBetter === null ? 'text-muted' : isBetter ? 'text-completed' : 'text-failed'
  return (
    <span data-delta className={`pl-1.5 text-xs ${look}`} title="Compared with the baseline">
      {text}
      {isBetter !== null && <span className="sr-only">{isBetter ? ', better' : ', worse'}</span>}
    </span>
  )
}

/** The ETA. Its range is fetched with the list, and the end is updated by the stream. */
function Eta({ batch, fields }: { batch: Batch; fields: FieldRow | undefined }) {
  const end = endOf(batch)
  // A stalled run has no ETA.
  if (end === null || batch.eta_s === null || batch.stalled) return null
  const range = fields?.values.eta
  if (range === undefined || fields === undefined) return end > Date.now() ? `≈ ${clock(end)}` : 'any moment'
  const at = fields.at
  return (
    <span title="Expected end; in eight of ten cases it is in the range in brackets">
      {etaText({ eta_s: (end - at) / 1000, low_s: Number(range.low), high_s: Number(range.high) }, at)}
    </span>
  )
}
