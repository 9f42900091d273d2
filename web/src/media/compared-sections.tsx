import { useQuery } from '@tanstack/react-query'
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
import { refreshMedia, withMediaQuery } from './media-queries.ts'

const MediaSections = part(() => import('./media-sections.tsx').then((file) => file.MediaSections))

/** Jobs beyond these are shown on request. */
const FIRST_JOBS = 12
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

/** The media of jobs of any batches, side by side with one slider of steps. Nothing if none of them has media. */
export function ComparedMedia(props: ComparedMediaProps) {
  const { rows } = props
  const [all, setAll] = useState(false)
  const { having, known } = useHaving(rows)
  const withMedia = useMemo(() => rows.filter((row) => known.has(row.job.key)), [rows, known])
  const shown = useMemo(() => withMedia.slice(0, all ? MAX_JOBS : FIRST_JOBS), [withMedia, all])
  const of = `compared ${JSON.stringify(shown.map((row) => row.name))}`
  useArrivals(rows, having, of)
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

/** The keys of the jobs that have media, and the name of their query. */
function useHaving(rows: readonly Compared[]): { having: string; known: ReadonlySet<string> } {
  const keys = useMemo(() => rows.map((row) => row.job.key).join(), [rows])
  const query = withMediaQuery(keys)
  const { data } = useQuery({ ...query, enabled: keys !== '' })
  const known = useMemo(() => new Set(data), [data])
  return { having: query.queryKey[1] as string, known }
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

/** Reads the media of running batches again as they arrive: first which jobs have some, then what is shown. */
function useArrivals(rows: readonly Compared[], having: string, of: string): void {
  const running = rows.flatMap(({ batch }) => (batch.status === 'running' ? [batch.id] : []))
  const followed = [...new Set(running)].slice(0, MAX_FOLLOWED).join('\n')
  useEffect(() => {
    const ends = (followed === '' ? [] : followed.split('\n')).map((id) =>
      follow(`batch:${id}`, ({ media, files }) => {
        if (media === undefined && files === undefined) return
        const keys = (media as { keys: string[] } | undefined)?.keys
        refreshMedia(having, keys)
        refreshMedia(of, keys)
      }),
    )
    return () => {
      for (const end of ends) end()
    }
  }, [followed, having, of])
}
