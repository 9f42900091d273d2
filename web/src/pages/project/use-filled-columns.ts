import { useMemo } from 'react'
import { type Column, isField } from './table-columns.ts'
import type { BatchList } from './use-batch-list.ts'

/**
 * The default columns without those of a metric that no listed batch reports. Chosen columns and the sorted one stay.
 */
export function useFilledColumns(
  columns: readonly Column[],
  areDefaults: boolean,
  list: BatchList,
  sort: string,
): readonly Column[] {
  const isFilled = ({ id }: Column): boolean =>
    !areDefaults ||
    !isField(id) ||
    id === sort ||
    list.ids.some((batch) => list.fields.get(batch)?.values[id] !== undefined)
  const filled = columns.filter(isFilled)
  const names = filled.map(({ id }) => id).join('\n')
  // biome-ignore lint/correctness/useExhaustiveDependencies: stable while the names of the columns are equal
  return useMemo(() => filled, [names])
}
