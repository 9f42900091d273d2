import { isMedia, type Section } from '../lib/charts/layout.ts'
import { Arranger } from './arranger.tsx'
import { ChartCard } from './chart-card.tsx'
import { LazyChart, plotHeightOf, type SectionsProps } from './chart-grid.tsx'

const isChart = (name: string): boolean => !isMedia(name)

/** The charts of a page, to be arranged. */
export function ChartArranger(props: SectionsProps & { sections: readonly Section[] }) {
  const { sections, onLayout, closed: _, onClosed: _on, ...rest } = props
  return (
    <Arranger
      {...{ sections, onLayout }}
      layout={props.layout}
      onHide={props.onHide}
      owns={isChart}
      card={(name, size, columnsOf) => {
        const height = plotHeightOf(size, columnsOf)
        return (
          <LazyChart plotHeight={height}>
            <ChartCard {...rest} name={name} height={height} />
          </LazyChart>
        )
      }}
    />
  )
}
