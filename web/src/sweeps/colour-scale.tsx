import type { Axis } from '../columns/axes.ts'
import { useTheme } from '../lib/theme.ts'
import { number } from '../lib/words.ts'
import { metricColour } from './metric-colour.ts'

const STOPS = 10

/** The legend of a colour scale. */
export function ColourScale({ axis }: { axis: Axis }) {
  const theme = useTheme()
  const colours = Array.from({ length: STOPS + 1 }, (_, i) => metricColour(axis, i / STOPS, theme))
  return (
    <div className="flex h-7 items-center gap-2 text-xs text-muted">
      <span>{number(axis.low)}</span>
      <span
        role="img"
        aria-label={`Colours from ${number(axis.low)} to ${number(axis.high)}${axis.log ? ', log scale' : ''}`}
        className="h-2.5 w-32 rounded"
        style={{ backgroundImage: `linear-gradient(to right, ${colours.join(', ')})` }}
      />
      <span>{number(axis.high)}</span>
    </div>
  )
}
