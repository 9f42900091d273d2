import { useMemo } from 'react'
import { batchStore } from '../../lib/live/batches.ts'
import { type Column, isField } from './table-columns.ts'
import type { BatchList } from './use-batch-list.ts'

/**
 * The default columns without those of a metric that no listed batch reports, and without ETAs if none of them is running.
 * Chosen columns and the sorted one stay.
 */
export function useFilledColumns(
  columns: readonly Column[],
  areDefaults: boolean,
  list: BatchList,
  sort: string,
): readonly Column[] {
  const isFilled = ({ id }: Column): boolean =>
    !areDefaults ||
    id === sort ||
    (id === 'eta'
      ? list.pending || list.ids.some((batch) => batchStore.get(batch)?.status === 'running')
      : !isField(id) || list.ids.some((batch) => list.fields.get(batch)?.values[id] !== undefined))
  const filled = columns.filter(isFilled)
  const names = filled.map(({ id }) => id).join('\n')
  // biome-ignore lint/correctness/useExhaustiveDependencies: stable while the names of the columns are equal
  return useMemo(() => filled, [names])
}
