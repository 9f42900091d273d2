import { useCallback, useMemo } from 'react'
import type { Compared } from '../../charts/compared-jobs.ts'
import { axesOf } from '../../columns/axes.ts'
import { whyLeftOut } from '../../columns/counted.tsx'
import { CustomCharts } from '../../columns/custom-charts.tsx'
import type { ColourOf } from '../../lib/charts/colours.ts'
import type { ChartSearch } from '../../lib/charts/search.ts'
import { mainSeries } from '../../lib/main-series.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { useTheme } from '../../lib/theme.ts'
import { some } from '../../lib/words.ts'

/** Charts of columns of the drawn batches. Jobs that failed, were pruned or diverged are left out. */
export function WorkspaceCustom(props: {
  rows: readonly Compared[]
  search: ChartSearch
  change: (part: SearchChange<ChartSearch>) => void
  colourOf: ColourOf
}) {
  const { rows, search, change, colourOf } = props
  const axes = useMemo(() => axesOf(rows), [rows])
  const metric = useMemo(() => {
    const name = mainSeries(axes.flatMap(({ id }) => (id.startsWith('last.') ? id.slice(5) : [])))
    return axes.find((axis) => axis.id === `best.${name}` && axis.words === null)
  }, [axes])
  const counted = useMemo(() => rows.filter((row) => whyLeftOut(row, metric) === null), [rows, metric])
  const theme = useTheme()
  const strokeOf = useCallback((row: Compared) => colourOf(row.name, theme), [colourOf, theme])
  const left = rows.length - counted.length
  return (
    <>
      <CustomCharts
        rows={counted}
        axes={axes}
        metric={metric}
        charts={search.custom}
        onCharts={(custom) => change({ custom })}
        strokeOf={strokeOf}
      />
      {left > 0 && search.custom !== undefined && (
        <p className="text-xs text-muted">
          {some(left, 'job')} that failed, {left === 1 ? 'was' : 'were'} pruned or diverged{' '}
          {left === 1 ? 'is' : 'are'} left out.
        </p>
      )}
    </>
  )
}
