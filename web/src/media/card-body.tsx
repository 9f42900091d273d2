import { Suspense, useEffect, useMemo, useRef, useState } from 'react'
import type { MediaItem, MediaKey } from '../lib/api/media.ts'
import type { ChartSize } from '../lib/charts/layout.ts'
import type { MediaLook } from '../lib/media-looks.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { number } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { part } from '../ui/part.tsx'
import { Gallery, imagesOf, type ShownImage } from './gallery.tsx'
import { useLook } from './looks.ts'
import { createTogether, PlayTogether } from './player.tsx'
import { placeOf } from './step-slider.tsx'

const LargeView = part(() => import('./large-view.tsx').then((file) => file.LargeView))

export interface CardProps {
  of: MediaKey
  unit: string
  jobs: readonly string[]
  /** The jobs to ask for; undefined: all. */
  named: readonly string[] | undefined
  /** The step of the page, and how to change it. */
  step: number
  onStep: (step: number | undefined) => void
  tile: number
  sideBySide: boolean
  size: ChartSize
  /** The columns that its grid is for. */
  columnsOf: number
}

/** Below it a card does not shrink. */
export const leastOf = ({ type }: MediaKey, tile: number): number =>
  type === 'image' || type === 'video' || type === 'histogram' ? tile : 96

/** The values of a card at a step. */
export function CardBody(
  props: CardProps & {
    items: readonly MediaItem[] | undefined
    isOld: boolean
    steps: readonly number[] | undefined
    hidden: ReadonlySet<string>
  },
) {
  const { of: key, items, unit, jobs, step, steps = [], tile, hidden } = props
  const [look, onLook] = useLook(key.key)
  const together = useMemo(createTogether, [])
  const [isTogether, setTogether] = useState(true)
  const box = useRef<HTMLDivElement>(null)
  // While steps pass, a card that is empty at some of them keeps its height.
  const height = useKeptHeight(box, leastOf(key, tile))
  const wanted = useMemo(() => new Set(jobs), [jobs])
  const shown = useMemo(() => items?.filter((item) => wanted.has(item.job_id)), [items, wanted])
  if (shown === undefined) return <div className="pulse rounded-md bg-surface" style={{ height: tile }} />
  const isEmpty = shown.length === 0
  const players = shown.reduce(
    (n, item) => n + item.values.filter((one) => one._type === 'audio' || one._type === 'video').length,
    0,
  )
  return (
    <div ref={box} className={props.isOld ? 'refreshing' : ''} style={{ minHeight: height }}>
      {players > 1 && (
        <label className="flex items-center gap-1.5 px-1 pb-1 text-xs text-muted">
          <input
            type="checkbox"
            checked={isTogether}
            onChange={(event) => setTogether(event.target.checked)}
          />
          play together
        </label>
      )}
      {isEmpty ? (
        <Nothing name={key.key} unit={unit} step={step} steps={steps} onStep={props.onStep} />
      ) : (
        <PlayTogether value={isTogether ? together : null}>
          <Gallery
            name={key.key}
            unit={unit}
            tile={tile}
            hidden={hidden}
            onOpen={({ job, index }) => onLook({ open: { job, index } })}
            items={shown}
            steps={steps}
            jobs={jobs}
            sideBySide={props.sideBySide}
            step={shown[0]?.step ?? step}
          />
        </PlayTogether>
      )}
      <OpenImage {...props} items={shown} steps={steps} look={look} onLook={onLook} />
    </div>
  )
}

/** The large view of the image that is open, also at steps where there is none in its place. */
function OpenImage(
  props: Pick<CardProps, 'of' | 'unit' | 'jobs' | 'step' | 'onStep'> & {
    items: readonly MediaItem[]
    steps: readonly number[]
    look: MediaLook
    onLook: (part: SearchChange<MediaLook>) => void
  },
) {
  const { of: key, unit, jobs, items, look, onLook } = props
  const last = useRef<ShownImage>(undefined)
  const { open } = look
  if (open === undefined) return null
  const images = imagesOf(items, jobs)
  const image =
    images.find((one) => one.job === open.job && one.index === open.index) ??
    (last.current?.job === open.job ? last.current : undefined)
  if (image === undefined) return null
  last.current = image
  return (
    <Suspense>
      <LargeView
        name={key.key}
        unit={unit}
        items={items}
        images={images}
        image={image}
        steps={props.steps}
        step={props.step}
        onStep={props.onStep}
        look={look}
        onLook={onLook}
        onClose={() => onLook({ open: undefined, with: undefined, how: undefined })}
      />
    </Suspense>
  )
}

function useKeptHeight(box: React.RefObject<HTMLElement | null>, least: number): number {
  const [height, setHeight] = useState(least)
  useEffect(() => {
    setHeight(least)
    const at = box.current
    if (at === null) return
    const watcher = new ResizeObserver(() =>
      setHeight((before) => Math.max(before, Math.min(at.offsetHeight, 1_200))),
    )
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [box, least])
  return height
}

/** Never an older value in its place: says what there is before and after. */
function Nothing(props: {
  name: string
  unit: string
  step: number
  steps: readonly number[]
  onStep: (step: number) => void
}) {
  const { name, unit, step, steps } = props
  const at = placeOf(steps, step)
  const before = steps[at] !== undefined && (steps[at] ?? 0) < step ? steps[at] : undefined
  const after = before === undefined ? steps[0] : steps[at + 1]
  return (
    <div role="status" className="flex flex-wrap items-center gap-3 px-1 py-4 text-muted">
      {steps.length === 0 ? `These jobs have no ${name}.` : `Nothing at ${unit} ${number(step)}.`}
      {before !== undefined && (
        <Button onClick={() => props.onStep(before)}>
          Before: {unit} {number(before)}
        </Button>
      )}
      {after !== undefined && (
        <Button onClick={() => props.onStep(after)}>
          After: {unit} {number(after)}
        </Button>
      )}
    </div>
  )
}
