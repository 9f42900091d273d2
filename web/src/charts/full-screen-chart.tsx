import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ChartCard } from './chart-card.tsx'
import type { ChartView } from './chart-view.ts'

/** What the dialog and the chart's own head take of the height of the window, in pixels. */
const FRAME = 164
const MIN_HEIGHT = 200

/** One chart as large as the window, with as many points as it has pixels; arrow keys go to the next chart. */
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
  const height = useWindowHeight() - FRAME
  const at = keys.indexOf(name)
  const go = (steps: number): void => {
    const next = keys[at + steps]
    if (next !== undefined) onName(next)
  }
  return (
    <Dialog title={`Chart ${at + 1} of ${keys.length}`} onClose={onClose} size="full">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys for what the two buttons do */}
      <div
        className="flex flex-col gap-2"
        onKeyDown={(event) => {
          const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
          if (steps === undefined) return
          if (event.target instanceof Element && event.target.closest('input, [role=menu]')) return
          event.preventDefault()
          go(steps)
        }}
      >
        <div className="flex gap-2">
          <Button disabled={at <= 0} onClick={() => go(-1)}>
            <ChevronLeft className="size-4" aria-hidden="true" /> Previous chart
          </Button>
          <Button disabled={at + 1 >= keys.length} onClick={() => go(1)}>
            Next chart <ChevronRight className="size-4" aria-hidden="true" />
          </Button>
        </div>
        <ChartCard key={name} {...rest} name={name} height={Math.max(MIN_HEIGHT, height - 36)} />
      </div>
    </Dialog>
  )
}

function useWindowHeight(): number {
  const [height, setHeight] = useState(innerHeight)
  useEffect(() => {
    const measure = (): void => setHeight(innerHeight)
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [])
  return height
}
