import { ChevronLeft, ChevronRight, Download, Maximize, ZoomIn, ZoomOut } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import type { MediaItem } from '../lib/api/media.ts'
import type { MediaLook } from '../lib/media-looks.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { downloadAt } from '../lib/served.ts'
import { number } from '../lib/words.ts'
import { Button, buttonLook, Choice } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { comparable, useChosenValues } from './compare-with.ts'
import { altOf, captionOf, imagesOf, type ShownImage } from './gallery.tsx'
import { LayeredImage } from './layered-image.tsx'
import { StepSlider } from './step-slider.tsx'
import { useZoom, type Zoom } from './zoom.ts'

const NONE: ReadonlySet<string> = new Set()
type Mode = 'side' | NonNullable<MediaLook['how']>
const MODES = [
  ['side', 'Side by side'],
  ['slider', 'Slider'],
  ['difference', 'Difference'],
] as const

interface LargeViewProps {
  name: string
  unit: string
  /** All values of the step, and of these the images. */
  items: readonly MediaItem[]
  images: readonly ShownImage[]
  image: ShownImage
  steps: readonly number[]
  step: number
  onStep: (step: number | undefined) => void
  /** The open image, and what it is compared with. */
  look: MediaLook
  onLook: (part: SearchChange<MediaLook>) => void
  onClose: () => void
}

/** An image in full screen, to zoom into, and to compare with another job or step. */
export function LargeView(props: LargeViewProps) {
  const { name, unit, images, step, look } = props
  // Other values come with another step: the same place is shown.
  const found = images.findIndex((one) => one.job === props.image.job && one.index === props.image.index)
  const at = Math.max(0, found)
  const image = images[at] ?? props.image
  const jobs = [...new Set([...images.map((one) => one.job), image.job])]
  const { with: withText = '', how: mode = 'side' } = look
  const zooming = useZoom()
  const { zoom, box, drag, by, reset } = zooming
  const values = useChosenValues(name, image.job, withText, props.items)
  const other = values && imagesOf([values], jobs).find((one) => one.index === image.index)
  const go = (by: number): void => {
    const next = images[at + by]
    if (next !== undefined) props.onLook({ open: { job: next.job, index: next.index } })
  }
  return (
    <Dialog title={`${name} of ${image.job}`} onClose={props.onClose} size="full">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: shortcuts of the buttons */}
      <div
        className="flex h-[calc(100dvh-6rem)] flex-col gap-2 outline-none"
        data-begin
        tabIndex={-1}
        onKeyDown={(event) => pressed(event, { go, by, reset })}
      >
        <Toolbar {...props} image={image} at={at} onGo={go} jobs={jobs} zooming={zooming} />
        <div
          ref={box}
          {...drag}
          data-zoom={zoom.scale.toFixed(2)}
          className={`relative min-h-0 flex-1 touch-none overflow-hidden rounded-md border border-line bg-surface ${zoom.scale > 1 ? 'cursor-grab' : ''}`}
        >
          <Panes
            image={image}
            other={withText === '' ? undefined : other}
            isCompared={withText !== ''}
            mode={mode}
            zoom={zoom}
            unit={unit}
            altOf={(one) => altOf(one, name, unit)}
          />
        </div>
        <p className="min-h-5 text-muted">
          {captionOf(image.media)}
          {found < 0 && ` Nothing at ${unit} ${number(step)}; this is ${unit} ${number(image.step)}.`}
        </p>
      </div>
    </Dialog>
  )
}

/** Shortcuts of the buttons. */
function pressed(
  event: KeyboardEvent,
  { go, by, reset }: { go: (by: number) => void; by: (factor: number) => void; reset: () => void },
): void {
  if (event.target instanceof Element && event.target.closest('input, select')) return
  const act = {
    ArrowLeft: () => go(-1),
    ArrowRight: () => go(1),
    '+': () => by(1.5),
    '-': () => by(1 / 1.5),
    '0': reset,
  }[event.key]
  if (act === undefined) return
  event.preventDefault()
  act()
}

/** The place among the images, the step, what the image is compared with, zoom and download. */
function Toolbar(
  props: Pick<
    LargeViewProps,
    'name' | 'unit' | 'images' | 'steps' | 'step' | 'onStep' | 'look' | 'onLook'
  > & {
    image: ShownImage
    at: number
    onGo: (by: number) => void
    jobs: readonly string[]
    zooming: ReturnType<typeof useZoom>
  },
) {
  const { name, unit, images, image, at, jobs, steps, step, onLook } = props
  const { with: withText = '', how = 'side' } = props.look
  return (
    <div className="fade-end flex items-center gap-2 max-lg:overflow-x-auto max-lg:py-0.5 max-lg:*:shrink-0">
      <Pager at={at} n={images.length} onGo={props.onGo} />
      <StepSlider label={`Step of ${name}`} unit={unit} steps={steps} step={step} onStep={props.onStep} />
      <Choice
        label="Compare with"
        hideLabel
        value={withText}
        options={comparable(image, jobs, steps, unit)}
        onChange={(next) => onLook({ with: next || undefined })}
      />
      {withText !== '' && (
        <Choice
          label="How to compare"
          hideLabel
          value={how}
          options={MODES}
          onChange={(next) => onLook({ how: next === 'side' ? undefined : next })}
        />
      )}
      <span className="flex-1" />
      <ZoomButtons {...props.zooming} />
      <a
        href={downloadAt(image.media.url)}
        download
        aria-label="Download"
        title="Download"
        className={buttonLook()}
      >
        <Download className="size-4" aria-hidden="true" />
      </a>
    </div>
  )
}

function Pager({ at, n, onGo }: { at: number; n: number; onGo: (by: number) => void }) {
  return (
    <>
      <Button aria-label="Previous image" title="Previous (←)" disabled={at <= 0} onClick={() => onGo(-1)}>
        <ChevronLeft className="size-4" aria-hidden="true" />
      </Button>
      <span className="whitespace-nowrap text-muted tabular-nums">
        {number(at + 1)} of {number(n)}
      </span>
      <Button aria-label="Next image" title="Next (→)" disabled={at + 1 >= n} onClick={() => onGo(1)}>
        <ChevronRight className="size-4" aria-hidden="true" />
      </Button>
    </>
  )
}

function ZoomButtons({ zoom, by, reset }: Pick<ReturnType<typeof useZoom>, 'zoom' | 'by' | 'reset'>) {
  return (
    <>
      <Button aria-label="Zoom out" title="Zoom out (−)" onClick={() => by(1 / 1.5)}>
        <ZoomOut className="size-4" aria-hidden="true" />
      </Button>
      <span className="w-12 text-center text-xs text-muted tabular-nums" aria-live="polite">
        {number(Math.round(zoom.scale * 100))}%
      </span>
      <Button aria-label="Zoom in" title="Zoom in (+)" onClick={() => by(1.5)}>
        <ZoomIn className="size-4" aria-hidden="true" />
      </Button>
      <Button aria-label="Whole image" title="Whole image (0)" onClick={reset}>
        <Maximize className="size-4" aria-hidden="true" />
      </Button>
    </>
  )
}

function Panes(props: {
  image: ShownImage
  other: ShownImage | undefined
  isCompared: boolean
  mode: Mode
  zoom: Zoom
  unit: string
  altOf: (image: ShownImage) => string
}) {
  const { image, other, mode, zoom, isCompared } = props
  const pane = (one: ShownImage): ReactNode => (
    <span
      className="block size-full"
      style={{ transform: `translate(${zoom.x * 100}%, ${zoom.y * 100}%) scale(${zoom.scale})` }}
    >
      <LayeredImage
        media={one.media}
        alt={props.altOf(one)}
        hidden={mode === 'difference' && isCompared ? ALL : NONE}
        labels
      />
    </span>
  )
  if (!isCompared) return pane(image)
  if (other === undefined)
    return (
      <div className="grid size-full grid-cols-2">
        <span className="overflow-hidden">{pane(image)}</span>
        <span className="flex items-center justify-center text-muted">Nothing to compare with there</span>
      </div>
    )
  if (mode === 'side')
    return (
      <div className="grid size-full grid-cols-2 divide-x divide-line max-sm:grid-cols-1 max-sm:grid-rows-2">
        {[image, other].map((one, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two panes
          <span key={i} className="relative overflow-hidden">
            {pane(one)}
            <Label image={one} unit={props.unit} />
          </span>
        ))}
      </div>
    )
  if (mode === 'difference')
    return (
      <div className="relative isolate size-full bg-black" data-difference>
        <span className="absolute inset-0">{pane(image)}</span>
        <span className="absolute inset-0 mix-blend-difference">{pane(other)}</span>
      </div>
    )
  return <SplitPanes left={pane(image)} right={pane(other)} />
}

/** Two images on top of each other, with a slider that moves their border. */
function SplitPanes({ left, right }: { left: ReactNode; right: ReactNode }) {
  const [split, setSplit] = useState(50)
  return (
    <div className="relative size-full">
      <span className="absolute inset-0">{right}</span>
      <span className="absolute inset-0" style={{ clipPath: `inset(0 ${100 - split}% 0 0)` }}>
        <span className="block size-full bg-surface">{left}</span>
      </span>
      <span
        aria-hidden="true"
        className="pointer-events-none absolute inset-y-0 w-0.5 bg-accent"
        style={{ left: `${split}%` }}
      />
      <input
        type="range"
        aria-label="Share of the first image"
        min={0}
        max={100}
        value={split}
        className="absolute inset-x-0 bottom-2 accent-accent"
        onChange={(event) => setSplit(Number(event.target.value))}
      />
    </div>
  )
}

/** A layer name that hides every layer: see `has`. */
const ALL: ReadonlySet<string> = Object.assign(new Set<string>(), { has: () => true })

const Label = ({ image, unit }: { image: ShownImage; unit: string }) => (
  <span className="absolute bottom-1 left-1 max-w-[calc(100%-8px)] truncate rounded bg-raised px-1.5 text-xs text-muted">
    {image.job}, {unit} {number(image.step)}
  </span>
)
