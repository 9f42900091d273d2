import type { Batch } from '../../lib/api/batches.ts'
import type { FieldValue } from '../../lib/api/projects.ts'
import { type KnownNames, lessIsBetter } from '../../lib/batch-query.ts'
import { number } from '../../lib/words.ts'

/** The columns of the project table: fixed ones, and fields with user-defined names. */
export interface Column {
  id: string
  title: string
  /** Minimum width in pixels. */
  width: number
  /** The server's sort key; null if it cannot sort by this column. */
  sort: string | null
}

const FIXED: readonly Column[] = [
  { id: 'progress', title: 'Progress', width: 140, sort: 'progress' },
  { id: 'elapsed', title: 'Elapsed', width: 88, sort: 'elapsed' },
  { id: 'eta', title: 'ETA', width: 150, sort: null },
  { id: 'owner', title: 'Owner', width: 68, sort: 'owner' },
  { id: 'host', title: 'Host', width: 68, sort: 'host' },
  { id: 'tags', title: 'Tags', width: 140, sort: null },
  { id: 'started_at', title: 'Started', width: 70, sort: 'started_at' },
  { id: 'last_seen_at', title: 'Last event', width: 90, sort: 'last_seen_at' },
  { id: 'type', title: 'Type', width: 90, sort: null },
  { id: 'failed', title: 'Failed jobs', width: 80, sort: null },
  { id: 'user', title: 'User', width: 80, sort: null },
  { id: 'commit', title: 'Commit', width: 80, sort: null },
  { id: 'notes', title: 'Notes', width: 160, sort: null },
]

const LABELS = { param: '', last: 'last ', min: 'least ', max: 'greatest ' } as const

/**
 * The column of an id. Every field is a column: `param.lr`, `last.val_loss`, `min.val_loss`, and so is a formula of them;
 * undefined for other ids.
 */
export function columnOf(id: string): Column | undefined {
  // The list computes a formula for the rows that it shows, so it cannot sort by one.
  if (id.startsWith('=')) return { id, title: id.slice(1), width: 120, sort: null }
  const [, of, name] = /^(param|last|min|max)\.(.{1,128})$/u.exec(id) ?? []
  if (of === undefined || name === undefined) return FIXED.find((column) => column.id === id)
  const best = of === (lessIsBetter(name) ? 'min' : 'max')
  return { id, title: `${best ? 'best ' : LABELS[of as keyof typeof LABELS]}${name}`, width: 96, sort: id }
}
export const isField = (id: string): boolean => /^(=|(param|last|min|max)\.)/.test(id)

/** Adds the field that the list is sorted by as the first column, if it has none: an order is read by its values. */
export function withSorted(columns: readonly Column[], sort: string): readonly Column[] {
  const sorted = isField(sort) && !columns.some(({ id }) => id === sort) ? columnOf(sort) : undefined
  return sorted === undefined ? columns : [sorted, ...columns]
}

/** The one column that is shown on phones. */
export const narrowColumn = (sort: string): string => (isField(sort) ? sort : 'progress')

/** The main metric: a loss, if there is one, that most jobs have. */
export const watchedOf = (known: KnownNames | undefined): string | undefined =>
  known?.main_metric ?? undefined

export const bestOf = (series: string): string => `${lessIsBetter(series) ? 'min' : 'max'}.${series}`

export function standardColumns(known: KnownNames | undefined): string[] {
  const watched = watchedOf(known)
  const metrics = watched === undefined ? [] : [bestOf(watched), `last.${watched}`]
  return ['progress', 'elapsed', 'eta', ...metrics, 'started_at', 'owner', 'host', 'tags']
}

/** All available columns, fixed ones first. */
export const choices = (known: KnownNames | undefined): Column[] => [
  ...FIXED,
  ...[
    ...(known?.params ?? []).map((name) => `param.${name}`),
    ...(known?.series ?? []).flatMap((name) => [bestOf(name), `last.${name}`]),
  ].flatMap((id) => columnOf(id) ?? []),
]

export function fieldLabel({ low, high, n }: FieldValue): string {
  if (n === 1) return number(low)
  return n === 2 ? `${number(low)}, ${number(high)}` : `${number(low)} … ${number(high)} (${n})`
}

/** The sort order of the server: numbers, then text, then NaN, then missing values, in both directions. */
export function sortKey(
  batch: Batch,
  fields: Readonly<Record<string, FieldValue>> | undefined,
  sort: string,
  descending: boolean,
): number | string | null {
  switch (sort) {
    case 'started_at':
      return Date.parse(batch.started_at)
    case 'last_seen_at':
      return Date.parse(batch.last_seen_at)
    case 'status':
      return batch.status
    case 'host':
      return batch.host
    case 'owner':
      return batch.owner?.name ?? null
    case 'id':
      return batch.id
    case 'progress':
      return batch.slots.finished / Math.max(batch.slots.total ?? 0, batch.slots.finished, 1)
    case 'elapsed':
      return Date.parse(batch.ended_at ?? batch.last_seen_at) - Date.parse(batch.started_at)
    default: {
      const value = fields?.[sort]
      const one = descending ? value?.high : value?.low
      if (one === 'NaN') return Number.NaN
      if (typeof one === 'number' || typeof one === 'string') return one
      return one === undefined || one === null ? null : String(one)
    }
  }
}

const rankOf = (key: number | string | null): number =>
  key === null ? 3 : typeof key === 'string' ? 1 : Number.isNaN(key) ? 2 : 0

export function compareKeys(
  a: number | string | null,
  b: number | string | null,
  descending: boolean,
): number {
  const rank = rankOf(a) - rankOf(b)
  if (rank !== 0 || a === null || b === null) return rank
  const order = a < b ? -1 : a > b ? 1 : 0
  return descending ? -order : order
}
