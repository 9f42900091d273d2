import { useQuery } from '@tanstack/react-query'
import { Suspense, useMemo } from 'react'
import type { MediaChoices } from '../../lib/media-search.ts'
import type { SearchChange } from '../../lib/search-change.ts'
import { mediaKeysQuery } from '../../media/media-queries.ts'
import { part } from '../../ui/part.tsx'
import { useBatchContext } from '../batch/context.ts'

const MediaSections = part(() => import('../../media/media-sections.tsx').then((file) => file.MediaSections))

/** The media of one job; nothing if its batch has none. */
export function JobMedia(props: {
  job: string
  search: MediaChoices
  onSearch: (part: SearchChange<MediaChoices>) => void
}) {
  const { job, search, onSearch } = props
  const { of, media } = useBatchContext()
  const jobs = useMemo(() => [job], [job])
  const keys = useQuery(mediaKeysQuery(of, media))
  if (!keys.data || keys.data.length === 0) return null
  // The names of series filter the charts only.
  const { step, tile } = search
  return (
    <section aria-label="Media" className="flex flex-col gap-2 px-3">
      <h3 className="font-medium">Media</h3>
      <Suspense fallback={<div className="pulse h-40 rounded-md bg-surface" />}>
        <MediaSections
          jobs={jobs}
          search={{ ...(step !== undefined && { step }), ...(tile && { tile }) }}
          onSearch={({ series: _, ...part }) => onSearch(part)}
          finds={false}
        />
      </Suspense>
    </section>
  )
}
