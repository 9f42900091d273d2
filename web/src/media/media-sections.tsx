import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { MediaKey } from '../lib/api/media.ts'
import { errorText } from '../lib/api/request.ts'
import { matcher } from '../lib/charts/search.ts'
import { useIds } from '../lib/live/row-store.ts'
import { type MediaChoices, PHONE_TILES, TILES, type TileSize } from '../lib/media-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { stepUnit } from '../lib/step-unit.ts'
import { Choice, inputLook } from '../ui/controls.tsx'
import { Failure } from '../ui/notice.tsx'
import { lastStepOf } from './last-step.ts'
import { MediaCard } from './media-card.tsx'
import { namedJobs } from './media-jobs.ts'
import { mediaKeysQuery, mediaStepsQuery } from './media-queries.ts'
import { StepSlider } from './step-slider.tsx'

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
}) {
  const { jobs, search, onSearch, finds = true, sideBySide = false } = props
  const { of, media, jobs: store } = useBatchContext()
  const ids = useIds(store)
  const keys = useQuery(mediaKeysQuery(of, media))
  const named = useMemo(() => namedJobs(jobs, jobs.length === ids.length), [jobs, ids])
  const shown = useMemo(() => {
    const matches = matcher(search.series)
    const found = (keys.data ?? []).filter(({ key }) => matches(key))
    return found.sort((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type) || (a.key < b.key ? -1 : 1))
  }, [keys.data, search.series])
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
      </div>
      <KeyboardSteps steps={steps.data} step={step} onStep={onStep}>
        {shown.map((key) => (
          <MediaCard
            key={key.key}
            of={key}
            unit={unit}
            jobs={jobs}
            named={named}
            step={step}
            onStep={onStep}
            sideBySide={sideBySide}
            tile={(isPhone() ? PHONE_TILES : TILES)[tile]}
          />
        ))}
      </KeyboardSteps>
    </div>
  )
}

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
      className="grid items-start gap-3"
      style={{ gridTemplateColumns: 'repeat(auto-fill, minmax(min(100%, 30rem), 1fr))' }}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
        if (by === undefined || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey)
          return
        if (
          event.target instanceof Element &&
          event.target.closest('input, select, audio, video, [tabindex="0"], dialog')
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
