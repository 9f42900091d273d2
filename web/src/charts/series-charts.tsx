import { memo, useRef } from 'react'
import type { SeriesSource } from '../lib/api/batches.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import type { PointBus } from '../lib/live/points.ts'
import { useBatchContext } from '../pages/batch/context.ts'
import { ChartGrid } from './chart-grid.tsx'
import type { Curves } from './curves.ts'

/** Charts of some series outside of the charts tab: plain, with a zoom that its owner keeps. */
export const SeriesCharts = memo(function SeriesCharts(props: {
  x: 'epoch' | 'time'
  unit?: string
  unitOf?: (series: string) => string
  of: string
  clock?: string | undefined
  source: SeriesSource
  bus: PointBus
  keys: readonly string[]
  /** Charts whose curves are not those of one metric over jobs, by name. */
  curvesOf?: ReadonlyMap<string, Curves>
  jobs: readonly string[]
  whole: boolean
  zoom: [number, number] | undefined
  onZoom: (range: [number, number] | undefined) => void
  /** The batch's own without it. */
  colourOf?: ColourOf
}) {
  const { focus, colourOf } = useBatchContext()
  const zooms = useRef<[number, number][]>([])
  const { zoom, onZoom, ...rest } = props
  return (
    <ChartGrid
      focus={focus}
      colourOf={colourOf}
      {...rest}
      log={false}
      smooth={0}
      zoom={zoom}
      onZoom={(range) => {
        if (zoom) zooms.current.push(zoom)
        onZoom(range)
      }}
      onZoomOut={() => onZoom(zooms.current.pop())}
    />
  )
})
