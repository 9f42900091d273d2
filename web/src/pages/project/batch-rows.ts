import { batchName } from '../../lib/batch-name.ts'
import { batchStore, elapsedOf } from '../../lib/live/batches.ts'
import type { Cell } from '../../lib/table-text.ts'
import { type Column, fieldLabel } from './table-columns.ts'
import type { FieldStore } from './use-batch-list.ts'

/**
 * The rows of an exported table: a header, then a row per batch with id, name, status and the visible columns. Times
 * are RFC 3339, durations seconds. A field with the same value in all jobs is exported unrounded, others as the table
 * shows them.
 */
export function batchRows(columns: readonly Column[], ids: readonly string[], fields: FieldStore): Cell[][] {
  const rows = ids.flatMap((id): Cell[][] => {
    const batch = batchStore.get(id)
    if (batch === undefined) return []
    const cells = columns.map((column): Cell => {
      switch (column.id) {
        case 'progress':
          return `${batch.n_done + batch.n_failed} of ${batch.n_total ?? '?'}`
        case 'elapsed':
          return Math.round(Number(elapsedOf(batch, Date.now())))
        case 'eta':
          return batch.stalled ? null : batch.eta_s
        case 'owner':
          return batch.owner?.name
        case 'host':
          return batch.host
        case 'tags':
          return batch.tags.join(' ')
        case 'started_at':
          return batch.started_at
        case 'last_seen_at':
          return batch.last_seen_at
        case 'type':
          return batch.experiment_type
        case 'failed':
          return batch.n_failed
        case 'user':
          return batch.user
        case 'commit':
          return batch.commit
        case 'notes':
          return batch.notes
        default: {
          const value = fields.get(id)?.values[column.id]
          if (value === undefined) return null
          return value.n === 1 ? String(value.low) : fieldLabel(value)
        }
      }
    })
    return [[batch.id, batchName(batch), batch.status, ...cells]]
  })
  return [['id', 'name', 'status', ...columns.map((column) => column.title)], ...rows]
}
