import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useBatchContext } from '../batch/context.ts'
import type { groupsOf } from '../charts/chart-groups.ts'
import { DrawnJobs, JobsAside, useDrawn } from '../charts/drawn-jobs.tsx'
import { seriesNames } from '../charts/series-names.ts'
import { useIds } from '../lib/live/row-store.ts'
import type { MediaSearch } from '../lib/media-search.ts'
import { some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { HowTo } from '../ui/how-to.tsx'
import { Notice, Waiting } from '../ui/notice.tsx'
import { useChange } from '../ui/use-search-change.ts'
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
  const { of, media, jobs: store, colourOf } = useBatchContext()
  const ids = useIds(store)
  const [legend, setLegend] = useState(false)
  const { chosen, only } = useDrawn(search)
  const change = useChange(search, onSearch)
  const keys = useQuery(mediaKeysQuery(of, media))
  const known = ids.map((id) => store.get(id))
  if (keys.data?.length === 0)
    return (
      <Notice title="No media yet">
        <p>Images, tables, sound and histograms that a script logs appear here by themselves.</p>
        <HowTo call='run.log({"sample": svc.Image(x)})' section="media.html#media" />
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
