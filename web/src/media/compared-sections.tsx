import { useQueries } from '@tanstack/react-query'
import { Suspense, useEffect, useMemo, useState } from 'react'
import { createBatchContext, InBatch } from '../batch/context.ts'
import type { Compared } from '../charts/compared-jobs.ts'
import type { SeriesSource } from '../lib/api/series.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import type { Focus } from '../lib/live/focus.ts'
import { follow } from '../lib/live/stream.ts'
import type { MediaChoices } from '../lib/media-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { count, some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { part } from '../ui/part.tsx'
import { Section } from '../ui/section.tsx'
import { comparedMediaOf } from './compared-media.ts'
import { mediaKeysOf, refreshMedia } from './media-queries.ts'

const MediaSections = part(() => import('./media-sections.tsx').then((file) => file.MediaSections))

/** Jobs beyond these are shown on request. */
const FIRST_JOBS = 12
const MAX_BATCHES = 100
/** Requests for the keys of batches. */
const AT_ONCE = 3
const MAX_JOBS = 100
/** Further batches are not followed live. */
const MAX_FOLLOWED = 20
const none: SeriesSource = async () => []

interface ComparedMediaProps {
  rows: readonly Compared[]
  search: MediaChoices
  onSearch: (part: SearchChange<MediaChoices>) => void
  focus: Focus
  colourOf: ColourOf
}

/** The media of jobs of any batches, side by side with one slider of steps. Nothing if none of the batches has media. */
export function ComparedMedia(props: ComparedMediaProps) {
  const { rows } = props
  const [all, setAll] = useState(false)
  const { known, isKnown } = useHaving(rows)
  const withMedia = useMemo(() => rows.filter((row) => known.has(row.batch.id)), [rows, known])
  // Until then the first ones may change.
  const isReady = isKnown || withMedia.length >= FIRST_JOBS
  const shown = useMemo(
    () => (isReady ? withMedia.slice(0, all ? MAX_JOBS : FIRST_JOBS) : []),
    [withMedia, isReady, all],
  )
  const of = `compared ${JSON.stringify(shown.map((row) => row.name))}`
  useArrivals(rows, of)
  if (shown.length === 0) return null
  return (
    <Section id="media" title="Media">
      {withMedia.length > FIRST_JOBS && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted">
          <span>
            {shown.length} of {some(withMedia.length, 'job')} shown
          </span>
          <Button onClick={() => setAll(!all)}>
            Show the first {count(all ? FIRST_JOBS : Math.min(MAX_JOBS, withMedia.length))}
          </Button>
        </div>
      )}
      <Shown {...props} rows={shown} of={of} />
    </Section>
  )
}

/** The batches that have media. Each is asked by itself, a few at once, so that charts need not wait for them. */
function useHaving(rows: readonly Compared[]): { known: ReadonlySet<string>; isKnown: boolean } {
  const ids = useMemo(() => [...new Set(rows.map((row) => row.batch.id))].slice(0, MAX_BATCHES), [rows])
  const [asked, setAsked] = useState(AT_ONCE)
  const { having, answered } = useQueries({
    queries: ids.map((id, i) => ({ ...mediaKeysOf(id), enabled: i < asked })),
    combine: (all) => ({
      having: all.flatMap(({ data }, i) => (data && data.length > 0 ? [ids[i]] : [])).join('\n'),
      answered: all.filter((one) => one.isFetched).length,
    }),
  })
  useEffect(() => setAsked(answered + AT_ONCE), [answered])
  const known = useMemo(() => new Set(having.split('\n')), [having])
  return { known, isKnown: answered >= ids.length }
}

function Shown({ rows, of, search, onSearch, focus, colourOf }: ComparedMediaProps & { of: string }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: names the rows; other changes of a job change no media
  const context = useMemo(() => {
    const from = { metrics: none, resources: none, log: null, media: comparedMediaOf(rows), batchId: null }
    const made = createBatchContext(of, from)
    made.jobs.put(rows.map(({ job, name }) => ({ ...job, id: name })))
    return { ...made, shared: false }
  }, [of])
  const value = useMemo(() => ({ ...context, focus, colourOf }), [context, focus, colourOf])
  const jobs = useMemo(() => rows.map((row) => row.name), [rows])
  return (
    <InBatch value={value}>
      <Suspense fallback={<div className="pulse h-40 rounded-md bg-surface" />}>
        <MediaSections
          jobs={jobs}
          search={search}
          onSearch={({ series: _, ...part }) => onSearch(part)}
          finds={false}
          sideBySide
        />
      </Suspense>
    </InBatch>
  )
}

/** Reads the media of running batches again as they arrive: first the keys of the batch, then what is shown. */
function useArrivals(rows: readonly Compared[], of: string): void {
  const running = rows.flatMap(({ batch }) => (batch.status === 'running' ? [batch.id] : []))
  const followed = [...new Set(running)].slice(0, MAX_FOLLOWED).join('\n')
  useEffect(() => {
    const ends = (followed === '' ? [] : followed.split('\n')).map((id) =>
      follow(`batch:${id}`, ({ media, files }) => {
        if (media === undefined && files === undefined) return
        const keys = (media as { keys: string[] } | undefined)?.keys
        refreshMedia(`batch ${id}`, keys)
        refreshMedia(of, keys)
      }),
    )
    return () => {
      for (const end of ends) end()
    }
  }, [followed, of])
}
