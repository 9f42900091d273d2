import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { MediaChoices } from '../lib/media-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { part } from '../ui/part.tsx'
import { mediaKeysQuery } from './media-queries.ts'

const MediaSections = part(() => import('./media-sections.tsx').then((file) => file.MediaSections))

/** The media of some jobs of a batch; nothing if it has none. */
export function JobsMedia(props: {
  title: string
  jobs: readonly string[]
  search: MediaChoices
  onSearch: (part: SearchChange<MediaChoices>) => void
}) {
  const { title, jobs, search, onSearch } = props
  const { of, media } = useBatchContext()
  const keys = useQuery(mediaKeysQuery(of, media))
  if (!keys.data || keys.data.length === 0) return null
  // The names of series filter the charts only.
  const { step, tile, layout, looks } = search
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h3 className="font-medium">{title}</h3>
      <Suspense fallback={<div className="pulse h-40 rounded-md bg-surface" />}>
        <MediaSections
          jobs={jobs}
          search={{
            ...(step !== undefined && { step }),
            ...(tile && { tile }),
            ...(layout && { layout }),
            ...(looks && { looks }),
          }}
          onSearch={({ series: _, ...part }) => onSearch(part)}
          finds={false}
          sideBySide={jobs.length > 1}
        />
      </Suspense>
    </section>
  )
}
