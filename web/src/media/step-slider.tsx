import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { number } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'

/** While the slider moves, steps that it only passes are not read. */
const PAUSE_MS = 90
/** How long the page has to take over the chosen step. */
const TAKEN_MS = 600

/** The place of a step, or of the last one before it. */
export function placeOf(steps: readonly number[], step: number): number {
  let [low, high] = [0, steps.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((steps[middle] ?? Number.POSITIVE_INFINITY) <= step) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/** The step that a slider shows: while it is moved, not yet that of the page. */
function useMovedStep(steps: readonly number[], step: number, onStep: (step: number | undefined) => void) {
  const [moving, setMoving] = useState<number>()
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(() => setMoving((now) => (now === step ? undefined : now)), [step])
  useEffect(() => () => void (timer.current !== null && clearTimeout(timer.current)), [])
  const shown = moving ?? step
  const at = placeOf(steps, shown)
  const last = steps.length - 1
  const choose = (place: number, pause: number): void => {
    const next = steps[Math.max(0, Math.min(last, place))]
    if (next === undefined) return
    setMoving(next)
    if (timer.current !== null) clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      onStep(place >= last ? undefined : next)
      timer.current = setTimeout(() => setMoving(undefined), TAKEN_MS)
    }, pause)
  }
  return { shown, at, last, choose }
}

/** Chooses one of the steps that have media. At its end it follows the last step. */
export function StepSlider(props: {
  label: string
  unit: string
  steps: readonly number[]
  step: number
  /** `undefined`: the last step, as steps arrive. */
  onStep: (step: number | undefined) => void
  wide?: boolean
}) {
  const { label, unit, steps, step, onStep } = props
  const { shown, at, last, choose } = useMovedStep(steps, step, onStep)
  const isBetween = steps[at] !== shown
  return (
    <div role="group" aria-label={label} className="flex min-w-0 items-center gap-1">
      <Button
        look="quiet"
        aria-label={`Previous ${unit}`}
        title="Previous (←)"
        className="px-1!"
        disabled={at <= 0 && !isBetween}
        onClick={() => choose(isBetween && shown > (steps[at] ?? shown) ? at : at - 1, 0)}
      >
        <ChevronLeft className="size-4" aria-hidden="true" />
      </Button>
      <input
        type="range"
        data-step-slider
        aria-label={label}
        aria-valuetext={`${unit} ${number(shown)}`}
        min={0}
        max={Math.max(0, last)}
        step={1}
        value={at}
        disabled={last <= 0}
        className={`min-w-16 accent-accent ${props.wide ? 'w-full max-w-[32rem] flex-1' : 'w-28'}`}
        onChange={(event) => choose(Number(event.target.value), PAUSE_MS)}
      />
      <Button
        look="quiet"
        aria-label={`Next ${unit}`}
        title="Next (→)"
        className="px-1!"
        disabled={at >= last}
        onClick={() => choose(at + 1, 0)}
      >
        <ChevronRight className="size-4" aria-hidden="true" />
      </Button>
      <output
        className="whitespace-nowrap tabular-nums"
        style={{ minWidth: `${unit.length + number(steps.at(-1) ?? 0).length + 1}ch` }}
      >
        {unit} {number(shown)}
      </output>
    </div>
  )
}
