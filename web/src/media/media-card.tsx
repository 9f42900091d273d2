import { useQuery } from '@tanstack/react-query'
import { Link2, Link2Off } from 'lucide-react'
import { type CSSProperties, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { useBatchContext } from '../batch/context.ts'
import { columnLook } from '../charts/chart-look.ts'
import { STEP_HEIGHT } from '../charts/plot-height.ts'
import type { MediaItem, MediaKey, StoredMedia } from '../lib/api/media.ts'
import { errorText } from '../lib/api/request.ts'
import { type ChartSize, MAX_WIDE, ONE } from '../lib/charts/layout.ts'
import { Button } from '../ui/controls.tsx'
import { Failure } from '../ui/notice.tsx'
import { CardBody, type CardProps, leastOf } from './card-body.tsx'
import { HistogramCard } from './histogram-card.tsx'
import { layerNames } from './layers.ts'
import { useLook } from './looks.ts'
import { mediaItemsQuery, mediaStepsQuery } from './media-queries.ts'
import { StepSlider } from './step-slider.tsx'

/** Until the first values are there, a card is as high as one row of images. */
const HEAD = 40

/** The values of one key at a step of the page, or at one of its own. Read once it is near the screen. */
export function MediaCard(props: CardProps) {
  const { of: key, size, columnsOf } = props
  // Higher cards have larger images.
  const tile = Math.round((props.tile * (size.high + 1)) / 2)
  const ref = useRef<HTMLElement>(null)
  const isNear = useNear(ref)
  // The large view of an image is above the page, wherever its card is.
  const [{ open }] = useLook(key.key)
  const [own, setOwn] = useState<{ step: number | undefined }>()
  return (
    <section
      ref={ref}
      aria-label={key.key}
      data-media={key.key}
      className={`flex min-w-0 flex-col gap-2 rounded-lg border border-line bg-bg p-2 ${columnLook(size, columnsOf)}`}
      style={{ minHeight: HEAD + leastOf(key, tile), '--more': `${moreOf(size)}px` } as CSSProperties}
    >
      {isNear || open !== undefined ? (
        <ShownCard {...props} tile={tile} own={own} onOwn={setOwn} />
      ) : (
        <h3 className="truncate px-1 font-medium">{key.key}</h3>
      )}
    </section>
  )
}

const moreOf = ({ high }: ChartSize): number => (high - 1) * STEP_HEIGHT

/** Several jobs, and images, are side by side in their card, so it takes the whole row. */
export const usualSize = ({ type }: MediaKey, jobs: number): ChartSize =>
  jobs > 1 || type === 'table' || type === 'image' ? { wide: MAX_WIDE, high: 1 } : ONE

/** Once near the screen, it stays: cards do not lose their height. */
function useNear(ref: React.RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const at = ref.current
    if (at === null || isNear) return
    const watcher = new IntersectionObserver(([entry]) => entry?.isIntersecting && setNear(true), {
      rootMargin: '300px',
    })
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [ref, isNear])
  return isNear
}

type Own = { step: number | undefined } | undefined

function ShownCard(props: CardProps & { own: Own; onOwn: (own: Own) => void }) {
  const { of: key, unit, jobs, named, own, onOwn } = props
  const { of, media } = useBatchContext()
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const isMap = key.type === 'histogram'
  const steps = useQuery({
    ...mediaStepsQuery(of, media as NonNullable<typeof media>, { keys: [key.key], jobs: named }),
    enabled: media !== null,
  })
  const step = own === undefined ? props.step : (own.step ?? steps.data?.at(-1) ?? key.last_step)
  const items = useQuery({
    ...mediaItemsQuery(of, media as NonNullable<typeof media>, {
      keys: [key.key],
      jobs: named,
      from: step,
      to: step,
    }),
    enabled: media !== null && !isMap,
  })
  const values = useMemo(() => storedOf(items.data), [items.data])
  const layers = useMemo(() => layerNames(values), [values])
  const head = (
    <Head
      title={key.key}
      layers={layers}
      hidden={hidden}
      onHidden={setHidden}
      own={own}
      onOwn={(linked) => onOwn(linked ? undefined : { step })}
      isMap={isMap}
    >
      {own !== undefined && (
        <StepSlider
          label={`Step of ${key.key}`}
          unit={unit}
          steps={steps.data ?? []}
          step={step}
          onStep={(next) => onOwn({ step: next })}
        />
      )}
    </Head>
  )
  if (isMap)
    return (
      <>
        {head}
        <HistogramCard
          name={key.key}
          unit={unit}
          jobs={jobs}
          named={named}
          steps={steps.data ?? []}
          step={step}
          onStep={props.onStep}
          more={moreOf(props.size)}
        />
      </>
    )
  return (
    <>
      {head}
      {items.error ? (
        <Failure>{errorText(items.error)}</Failure>
      ) : (
        <CardBody
          {...props}
          items={items.data}
          isOld={items.isPlaceholderData}
          step={step}
          steps={steps.data}
          hidden={hidden}
          onStep={own === undefined ? props.onStep : (next) => onOwn({ step: next })}
        />
      )}
    </>
  )
}

const storedOf = (items: readonly MediaItem[] = []): StoredMedia[] =>
  items.flatMap((item) => item.values.filter((value) => value._type !== 'histogram'))

function Head(props: {
  title: string
  layers: readonly string[]
  hidden: ReadonlySet<string>
  onHidden: (hidden: ReadonlySet<string>) => void
  own: Own
  onOwn: (linked: boolean) => void
  isMap: boolean
  children: ReactNode
}) {
  const { title, layers, hidden, own } = props
  return (
    <div className="flex min-h-7 flex-wrap items-center gap-x-3 gap-y-1 px-1">
      <h3 className="min-w-0 flex-1 truncate font-medium" title={title}>
        {title}
      </h3>
      {layers.length > 0 && (
        <span role="group" aria-label={`Layers of ${title}`} className="flex flex-wrap gap-1">
          {layers.map((layer) => (
            <Button
              key={layer}
              look={hidden.has(layer) ? 'plain' : 'on'}
              aria-pressed={!hidden.has(layer)}
              className="h-6! max-w-40 px-2!"
              onClick={() => {
                const next = new Set(hidden)
                if (!next.delete(layer)) next.add(layer)
                props.onHidden(next)
              }}
            >
              <span className="truncate">{layer}</span>
            </Button>
          ))}
        </span>
      )}
      {props.children}
      {!props.isMap && (
        <Button
          look="quiet"
          className="h-6! px-1!"
          aria-pressed={own === undefined}
          aria-label={`${title} follows the step of the page`}
          title={
            own === undefined
              ? 'Follows the step of the page; click to free it'
              : 'Has a step of its own; click to link it'
          }
          onClick={() => props.onOwn(own !== undefined)}
        >
          {own === undefined ? (
            <Link2 className="size-4" aria-hidden="true" />
          ) : (
            <Link2Off className="size-4 text-accent" aria-hidden="true" />
          )}
        </Button>
      )}
    </div>
  )
}
