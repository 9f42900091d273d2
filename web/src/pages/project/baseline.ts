import { useQuery } from '@tanstack/react-query'
import { type FieldValue, fetchTable } from '../../lib/api/projects.ts'
import { batchName } from '../../lib/batch-name.ts'
import { lessIsBetter } from '../../lib/batch-query.ts'
import { number } from '../../lib/words.ts'
import { isField } from './table-columns.ts'

/** The batch that the other rows of the table are compared with. */
export interface Baseline {
  id: string
  name: string
  values: Readonly<Record<string, FieldValue>>
}

const REFRESH_MS = 15_000

/** The baseline with its values in these columns; undefined without one, or until loaded. */
export function useBaseline(id: string | undefined, columns: readonly string[]): Baseline | undefined {
  const fields = columns.filter(isField)
  return useQuery({
    queryKey: ['baseline', id, fields],
    enabled: id !== undefined,
    queryFn: async (): Promise<Baseline | null> => {
      const [batch] = (await fetchTable({ id: [String(id)] }, { columns: fields, limit: 1 })).items
      return batch ? { id: batch.id, name: batchName(batch), values: batch.columns ?? {} } : null
    },
    refetchInterval: REFRESH_MS,
  }).data as Baseline | undefined
}

export interface Delta {
  text: string
  /** Null for a parameter, and if nothing changed. */
  isBetter: boolean | null
}

/** The difference of a value from the baseline's, in percent; absolute if the baseline's is 0. */
export function deltaOf(
  column: string,
  value: FieldValue | undefined,
  base: FieldValue | undefined,
): Delta | null {
  const [now, before] = [singleOf(column, value), singleOf(column, base)]
  if (now === undefined || before === undefined) return null
  const change = now - before
  if (change === 0) return { text: '=', isBetter: null }
  const sign = change > 0 ? '+' : '−'
  const size = Math.abs(change)
  const text = before === 0 ? number(size) : `${percent((100 * size) / Math.abs(before))}%`
  const [, kind, name = ''] = /^(\w+)\.(.+)$/u.exec(column) ?? []
  return { text: sign + text, isBetter: kind === 'param' ? null : change < 0 === lessIsBetter(name) }
}

const percent = (value: number): string =>
  value >= 1000 ? number(Math.round(value)) : value.toPrecision(value >= 100 ? 3 : 2)

/** The minimum or maximum over all jobs for `min.` and `max.`; the value of the only job for other columns. */
function singleOf(column: string, value: FieldValue | undefined): number | undefined {
  if (value === undefined) return undefined
  const one = column.startsWith('min.')
    ? value.low
    : column.startsWith('max.')
      ? value.high
      : value.n === 1
        ? value.low
        : undefined
  return typeof one === 'number' && Number.isFinite(one) ? one : undefined
}
