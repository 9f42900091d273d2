import type { ChartSize } from '../lib/charts/layout.ts'

/**
 * Columns for `n` charts, at least 380 pixels wide and 12 apart. If four or six charts do not fit in one row, they stand
 * two by two or three by three: more in the first row would leave a gap in the last.
 */
export function columnsFor(n: number): string {
  const inOneRow = `max(380px, ${100 / n}% - 12px)`
  const width =
    n === 4
      ? `clamp(${inOneRow}, (1556px - 100%) * 999, 50% - 6px)`
      : n === 6
        ? `clamp(${inOneRow}, (2340px - 100%) * 999, 33.3% - 8px)`
        : inOneRow
  return `repeat(auto-fill, minmax(min(100%, ${width}), 1fr))`
}

/** The columns that a chart takes of its grid. Where the grid has one column, so has every chart. */
export const columnLook = ({ wide }: ChartSize, columnsOf: number): string =>
  wide === 1 || columnsOf === 1
    ? 'min-w-0'
    : wide === 2
      ? 'min-w-0 col-span-full @min-[800px]/charts:col-span-2'
      : 'min-w-0 col-span-full'
