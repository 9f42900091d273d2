import { memo, useRef } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { SeriesSource } from '../lib/api/series.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import type { PointBus } from '../lib/live/points.ts'
import { ChartGrid } from './chart-grid.tsx'
import type { Curves } from './curves.ts'

/** Charts of some series outside of the Charts tab, without settings; the caller keeps the zoom. */
export const SeriesCharts = memo(function SeriesCharts(props: {
  x: 'epoch' | 'time'
  unit?: string
  unitOf?: (series: string) => string
  of: string
  clock?: string | undefined
  source: SeriesSource
  bus: PointBus
  keys: readonly string[]
  /** Charts with special curves, by name; other charts show one metric over jobs. */
  curvesOf?: ReadonlyMap<string, Curves>
  jobs: readonly string[]
  whole: boolean
  zoom: [number, number] | undefined
  onZoom: (range: [number, number] | undefined) => void
  /** By default the colours of the batch. */
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
