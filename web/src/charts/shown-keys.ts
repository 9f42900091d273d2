import { useMemo } from 'react'
import { withFormulas } from '../lib/charts/formulas.ts'
import { type ChartSearch, matcher } from '../lib/charts/search.ts'

/** The series and formulas that have a chart, pinned ones first. */
export const useShownKeys = (
  { series, formulas }: Pick<ChartSearch, 'series' | 'formulas'>,
  keys: readonly string[],
  kept: ReadonlySet<string>,
): readonly string[] =>
  useMemo(() => {
    const finds = matcher(series)
    const all = withFormulas(keys, formulas)
    return [...all.filter((key) => kept.has(key)), ...all.filter((key) => !kept.has(key) && finds(key))]
  }, [keys, formulas, series, kept])
