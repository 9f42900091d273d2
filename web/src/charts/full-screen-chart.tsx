import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ChartCard } from './chart-card.tsx'
import { AxisControls } from './chart-controls.tsx'
import type { ChartView } from './chart-view.ts'

/** The height of the dialog's frame, controls and title, in pixels. */
const FRAME = 184
/** Space below the chart for the values at the cursor, on windows too narrow for a list beside it. */
const BELOW = 190
const NARROW = 1024
const MIN_HEIGHT = 200

/** A chart in full screen, with as many points as it has pixels. Arrow keys switch to the next chart. */
export function FullScreenChart(
  props: ChartView & {
    keys: readonly string[]
    jobs: readonly string[]
    whole: boolean
    name: string
    onName: (name: string) => void
    onClose: () => void
  },
) {
  const { keys, name, onName, onClose, ...rest } = props
  const [width, tall] = useWindowSize()
  const height = tall - FRAME - (width < NARROW ? BELOW : 0)
  const at = keys.indexOf(name)
  const go = (steps: number): void => {
    const next = keys[at + steps]
    if (next !== undefined) onName(next)
  }
  return (
    <Dialog title={`Chart ${at + 1} of ${keys.length}`} onClose={onClose} size="full">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: shortcuts of the two buttons */}
      <div
        className="flex flex-col gap-2 outline-none"
        data-begin
        tabIndex={-1}
        onKeyDown={(event) => {
          const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
          if (steps === undefined) return
          if (event.target instanceof Element && event.target.closest('input, select, [role=menu]')) return
          event.preventDefault()
          go(steps)
        }}
      >
        <div className="fade-end flex items-center gap-2 max-lg:overflow-x-auto max-lg:py-0.5 max-lg:*:shrink-0">
          <Button disabled={at <= 0} onClick={() => go(-1)}>
            <ChevronLeft className="size-4" aria-hidden="true" /> Previous chart
          </Button>
          <Button disabled={at + 1 >= keys.length} onClick={() => go(1)}>
            Next chart <ChevronRight className="size-4" aria-hidden="true" />
          </Button>
          {rest.choices && <AxisControls {...rest.choices} unit={rest.unit} metrics={rest.metrics ?? []} />}
        </div>
        <ChartCard key={name} {...rest} alone name={name} height={Math.max(MIN_HEIGHT, height)} />
      </div>
    </Dialog>
  )
}

function useWindowSize(): readonly [number, number] {
  const [size, setSize] = useState([innerWidth, innerHeight] as const)
  useEffect(() => {
    const measure = (): void => setSize([innerWidth, innerHeight])
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [])
  return size
}
