import { useQuery } from '@tanstack/react-query'
import { LayoutGrid } from 'lucide-react'
import { type ReactNode, Suspense, useMemo } from 'react'
import { useBatchContext } from '../batch/context.ts'
import { columnsFor } from '../charts/chart-look.ts'
import { useArrangement } from '../charts/use-arrangement.ts'
import type { MediaKey } from '../lib/api/media.ts'
import { errorText } from '../lib/api/request.ts'
import {
  arranged,
  type ChartSize,
  isMedia,
  MEDIA,
  mediaName,
  ONE,
  sizeOf,
  withoutMedia,
} from '../lib/charts/layout.ts'
import { matcher } from '../lib/charts/search.ts'
import { useIds } from '../lib/live/row-store.ts'
import { type MediaChoices, PHONE_TILES, TILES, type TileSize } from '../lib/media-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { stepUnit } from '../lib/step-unit.ts'
import { Button, Choice, inputLook } from '../ui/controls.tsx'
import { Failure } from '../ui/notice.tsx'
import { part } from '../ui/part.tsx'
import { lastStepOf } from './last-step.ts'
import { Looks } from './looks.ts'
import { MediaCard, usualSize } from './media-card.tsx'
import { namedJobs } from './media-jobs.ts'
import { mediaKeysQuery, mediaStepsQuery } from './media-queries.ts'
import { StepSlider } from './step-slider.tsx'

const Arranger = part(() => import('../charts/arranger.tsx').then((file) => file.Arranger))

const SIZES: readonly (readonly [TileSize, string])[] = [
  ['s', 'Small'],
  ['m', 'Medium'],
  ['l', 'Large'],
]

/** What is compared at a glance comes first. */
const ORDER = ['image', 'video', 'audio', 'histogram', 'plot', 'table', 'html', 'text']

/** All media of these jobs, a card for each key, with one slider of steps. */
export function MediaSections(props: {
  jobs: readonly string[]
  search: MediaChoices & { series?: string }
  onSearch: (part: SearchChange<MediaChoices & { series?: string }>) => void
  /** Shown before the other controls. */
  lead?: React.ReactNode
  /** Whether there is a field to filter keys. */
  finds?: boolean
  /** Each job has its place, also where it has no value. */
  sideBySide?: boolean
  /** Whether cards can be arranged. */
  arranges?: boolean
  /** The slug of the project whose arrangement is kept in this browser. */
  project?: string | undefined
}) {
  const { jobs, search, onSearch, finds = true, sideBySide = false, arranges = true } = props
  const { of, media, jobs: store } = useBatchContext()
  const ids = useIds(store)
  const keys = useQuery(mediaKeysQuery(of, media))
  const named = useMemo(() => namedJobs(jobs, jobs.length === ids.length), [jobs, ids])
  const shown = useMemo(() => {
    const matches = matcher(search.series)
    const found = (keys.data ?? []).filter(({ key }) => matches(key))
    return found.sort((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type) || (a.key < b.key ? -1 : 1))
  }, [keys.data, search.series])
  const arrangement = useArrangement(search.layout, (layout) => onSearch({ layout }), props.project)
  const looks = useMemo(
    () => ({ looks: search.looks ?? {}, onLooks: (next: typeof search.looks) => onSearch({ looks: next }) }),
    [search.looks, onSearch],
  )
  const stepped = useMemo(() => steppedOf(shown), [shown])
  const steps = useQuery({
    ...mediaStepsQuery(of, media as NonNullable<typeof media>, {
      keys: stepped.map(({ key }) => key),
      jobs: named,
    }),
    enabled: media !== null && stepped.length > 0,
  })
  const usual = lastStepOf(stepped)
  const step = search.step ?? usual
  const unit = stepUnit(jobs.map((job) => store.get(job)))
  if (keys.error) return <Failure>{errorText(keys.error)}</Failure>
  if (step === undefined || steps.data === undefined)
    return shown.length === 0 && keys.data !== undefined ? (
      <p className="p-4 text-muted">No media key matches this filter.</p>
    ) : (
      <div className="pulse h-40 rounded-md bg-surface" />
    )
  const onStep = (next: number | undefined): void => {
    const chosen = next ?? steps.data.at(-1)
    // The last step is followed.
    onSearch({ step: chosen === usual ? undefined : chosen })
  }
  const tile = search.tile ?? 'm'
  const card = (key: MediaKey, size: ChartSize, columnsOf: number) => (
    <MediaCard
      key={key.key}
      of={key}
      tile={(isPhone() ? PHONE_TILES : TILES)[tile]}
      {...{ unit, jobs, named, step, onStep, sideBySide, size, columnsOf }}
    />
  )
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div
        role="toolbar"
        aria-label="Media"
        className="sticky top-0 z-10 -mx-1 flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-bg px-1 py-1.5"
      >
        {props.lead}
        {finds && (
          <input
            data-search
            type="search"
            aria-label="Find keys by regular expression"
            placeholder="Filter keys"
            className={`${inputLook} w-40!`}
            value={search.series ?? ''}
            onChange={(event) => onSearch({ series: event.target.value })}
          />
        )}
        <span className="min-w-56 flex-1">
          <StepSlider
            label={`The ${unit} of all media`}
            unit={unit}
            steps={steps.data}
            step={step}
            onStep={onStep}
            wide
          />
        </span>
        {shown.some(({ type }) => type === 'image') && (
          <Choice
            label="Size of images"
            hideLabel
            value={tile}
            options={SIZES}
            onChange={(next) => onSearch({ tile: next === 'm' ? undefined : next })}
          />
        )}
        {arranges && shown.length > 0 && (
          <Button
            look={arrangement.isArranging ? 'on' : 'plain'}
            aria-pressed={arrangement.isArranging}
            aria-label={arrangement.isArranging ? 'Done arranging media' : 'Arrange media'}
            onClick={() => arrangement.onArranging(!arrangement.isArranging)}
          >
            <LayoutGrid className="size-4" aria-hidden="true" />
            {arrangement.isArranging ? 'Done' : 'Arrange'}
          </Button>
        )}
      </div>
      <Looks value={looks}>
        <KeyboardSteps steps={steps.data} step={step} onStep={onStep}>
          <Cards {...arrangement} keys={shown} jobs={jobs.length} card={card} />
        </KeyboardSteps>
      </Looks>
    </div>
  )
}

/** The cards as they are arranged, or to be arranged. */
function Cards(
  props: Pick<ReturnType<typeof useArrangement>, 'layout' | 'onLayout' | 'onHide' | 'isArranging'> & {
    keys: readonly MediaKey[]
    jobs: number
    card: (key: MediaKey, size: ChartSize, columnsOf: number) => ReactNode
  },
) {
  const { keys, jobs, card, layout, onLayout } = props
  const byName = new Map(keys.map((key) => [mediaName(key.key), key]))
  const labelOf = (name: string): string => name.slice(MEDIA.length)
  const usualOf = (name: string): ChartSize => {
    const key = byName.get(name)
    return key === undefined ? ONE : usualSize(key, jobs)
  }
  const sections = arranged([...byName.keys()], NONE, layout).filter((one) => one.keys.length > 0)
  const drawn = (name: string, size: ChartSize, columnsOf: number): ReactNode => {
    const key = byName.get(name)
    return key && card(key, size, columnsOf)
  }
  if (props.isArranging)
    return (
      <Suspense fallback={<div className="pulse h-40 rounded-md bg-surface" />}>
        <Arranger
          {...{ sections, layout, onLayout, labelOf, usualOf }}
          onHide={(name) => props.onHide(name, labelOf(name))}
          card={drawn}
          owns={isMedia}
          onReset={() => onLayout(withoutMedia(layout))}
        />
      </Suspense>
    )
  const names = sections.flatMap((one) => one.keys)
  if (names.length === 0 && keys.length > 0)
    return <p className="p-4 text-muted">All media are hidden. “Arrange” lists them.</p>
  return (
    <div className="@container/charts">
      <div className="grid items-start gap-3" style={{ gridTemplateColumns: columnsFor(names.length) }}>
        {names.map((name) => drawn(name, sizeOf(layout, name, usualOf(name)), names.length))}
      </div>
    </div>
  )
}
const NONE: ReadonlySet<string> = new Set()

const isPhone = (): boolean => matchMedia('(max-width: 40rem)').matches

/** Heat maps show all steps: the slider is for the other media, if there are any. */
function steppedOf(keys: readonly MediaKey[]): readonly MediaKey[] {
  const others = keys.filter(({ type }) => type !== 'histogram')
  return others.length > 0 ? others : keys
}

/** Left and right move through the steps from anywhere among the cards, unless the focus is in something that uses them. */
function KeyboardSteps(props: {
  steps: readonly number[]
  step: number
  onStep: (step: number | undefined) => void
  children: React.ReactNode
}) {
  const { steps, step, onStep } = props
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: shortcuts of the slider
    <div
      onKeyDown={(event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
        if (by === undefined || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey)
          return
        if (
          event.target instanceof Element &&
          event.target.closest('input, select, audio, video, [tabindex="0"], dialog, [data-arranger]')
        )
          return
        const next = by < 0 ? steps.findLast((one) => one < step) : steps.find((one) => one > step)
        if (next === undefined) return
        event.preventDefault()
        onStep(next)
      }}
    >
      {props.children}
    </div>
  )
}
