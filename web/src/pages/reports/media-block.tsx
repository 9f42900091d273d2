import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { errorText } from '../../lib/api/request.ts'
import { matcherOf } from '../../lib/charts/search.ts'
import { useIds } from '../../lib/live/row-store.ts'
import type { MediaChoices } from '../../lib/media-search.ts'
import { changed } from '../../lib/search-change.ts'
import { some } from '../../lib/words.ts'
import { mediaKeysQuery } from '../../media/media-queries.ts'
import { MediaSections } from '../../media/media-sections.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'

const MAX_JOBS = 12

/** The media of a run in a report: of these keys, or of all. The step is the reader's own. */
export function MediaBlock({ wanted }: { wanted: readonly string[] }) {
  const { of, media, jobs: store } = useBatchContext()
  const [search, setSearch] = useState<MediaChoices>({})
  const ids = useIds(store)
  const jobs = useMemo(() => ids.slice(0, MAX_JOBS), [ids])
  const keys = useQuery(mediaKeysQuery(of, media))
  if (keys.error) return <Failure>{errorText(keys.error)}</Failure>
  if (keys.data === undefined) return <Waiting rows={4} />
  const known = keys.data.map(({ key }) => key)
  const missing = wanted.filter((key) => !known.includes(key))
  return (
    <figure className="flex min-w-0 flex-col gap-2" aria-label="Media">
      {known.length === 0 && <p className="text-muted">There are no media here.</p>}
      {missing.length > 0 && known.length > 0 && (
        <p role="status" className="text-amber">
          No job has media under {missing.join(', ')}. There are {known.slice(0, 8).join(', ')}.
        </p>
      )}
      {known.length > 0 && missing.length < Math.max(1, wanted.length) && (
        <MediaSections
          jobs={jobs}
          search={{ ...search, ...(wanted.length > 0 && { series: matcherOf(wanted) }) }}
          onSearch={({ series: _, ...part }) => setSearch((now) => changed(now, part))}
          finds={false}
          arranges={false}
        />
      )}
      {ids.length > jobs.length && (
        <figcaption className="text-xs text-muted">
          The first {MAX_JOBS} of {some(ids.length, 'job')}.
        </figcaption>
      )}
    </figure>
  )
}
