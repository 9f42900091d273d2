import { useQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { groupsOf } from '../charts/chart-groups.ts'
import { DrawnJobs, JobsAside, useChosen } from '../charts/drawn-jobs.tsx'
import { seriesNames } from '../charts/series-names.ts'
import { FIRST_JOBS, useOrdered } from '../charts/top-jobs.tsx'
import { useIds } from '../lib/live/row-store.ts'
import type { MediaSearch } from '../lib/media-search.ts'
import { changed, type SearchChange } from '../lib/search-change.ts'
import { useSelection } from '../lib/selection.ts'
import { some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { Notice, Waiting } from '../ui/notice.tsx'
import { mediaKeysQuery } from './media-queries.ts'
import { MediaSections } from './media-sections.tsx'

/** The media of a batch, of the jobs that are chosen as for charts. */
export function MediaView(props: {
  search: MediaSearch
  onSearch: (next: MediaSearch) => void
  /** The slug of the project whose arrangement is kept in this browser. */
  project?: string | undefined
}) {
  const { search, onSearch } = props
  const { of, media, jobs: store, selection, colourOf } = useBatchContext()
  const ids = useIds(store)
  const selected = useSelection(selection)
  const [legend, setLegend] = useState(false)
  const only = search.only === true && selected.size > 0
  const ordered = useOrdered(store, ids, search.by)
  const chosen = useChosen(
    useMemo(() => (only ? ordered.filter((job) => selected.has(job)) : ordered), [ordered, only, selected]),
    search,
    search.top ?? FIRST_JOBS,
  )
  const latest = useRef(search)
  useEffect(() => {
    latest.current = search
  })
  const change = useCallback(
    (part: SearchChange<MediaSearch>): void => {
      // The URL updates asynchronously; a change before that must build on this one.
      latest.current = changed(latest.current, part)
      onSearch(latest.current)
    },
    [onSearch],
  )
  const keys = useQuery(mediaKeysQuery(of, media))
  const known = ids.map((id) => store.get(id))
  if (keys.data?.length === 0)
    return (
      <Notice title="No media yet">
        <p>Images, tables, sound and histograms that a script logs appear here by themselves.</p>
      </Notice>
    )
  if (keys.data === undefined && !keys.error) return <Waiting rows={8} />
  return (
    <div className="flex flex-col gap-3 p-3 lg:flex-row">
      {ids.length > 1 && (
        <JobsAside
          search={search}
          chosen={chosen}
          grouped={undefined}
          groups={NO_GROUPS}
          colourOfGroup={colourOf}
          only={only}
          isOpen={legend}
          series={seriesNames(known.flatMap((job) => job ?? []))}
          params={NO_NAMES}
          onChange={change}
        />
      )}
      <div className="flex min-w-0 flex-1 flex-col gap-2">
        <DrawnJobs search={search} chosen={chosen} only={only} isGrouped={false} onChange={change} />
        <MediaSections
          jobs={chosen.drawn}
          search={search}
          onSearch={change}
          project={props.project}
          lead={
            ids.length > 1 && (
              <Button className="lg:hidden" aria-expanded={legend} onClick={() => setLegend(!legend)}>
                {some(chosen.drawn.length, 'job')}
              </Button>
            )
          }
        />
      </div>
    </div>
  )
}
const NO_GROUPS: ReturnType<typeof groupsOf> = []
const NO_NAMES: readonly string[] = []
