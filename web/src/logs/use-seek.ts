import { useBatchContext } from '../batch/context.ts'
import { errorText } from '../lib/api/request.ts'
import type { LogSearch } from '../lib/log-search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { showToast } from '../ui/toasts.tsx'

/** Jumps to a line that contains the text; shows the message if there is none. */
export type Seek = (text: string, way: 'next' | 'previous' | 'last', none: string) => void

/** Searches the whole log at the server, not only the loaded lines. The found line goes into the URL. */
export function useSeek(
  search: LogSearch,
  job: string | undefined,
  change: (part: SearchChange<LogSearch>) => void,
): Seek {
  const { log } = useBatchContext()
  const find = async (...[q, way, none]: Parameters<Seek>): Promise<void> => {
    if (log === null) return
    const [line] = await log({
      level: search.level,
      stream: search.stream,
      job_id: job,
      q,
      ...rangeFrom(search.line, way),
    })
    if (line === undefined) showToast(none)
    else change({ line: line.db_id, ...(way !== 'last' && { context: true }) })
  }
  return (...sought) =>
    void find(...sought).catch((error) => showToast(`Not found: ${errorText(error)}`, { bad: true }))
}

/** The one line after or before a line, or the last line. */
function rangeFrom(line: number | undefined, way: 'next' | 'previous' | 'last') {
  if (way === 'next') return { after: line ?? 0, limit: 1 }
  return { tail: 1, ...(way === 'previous' && line !== undefined && { before: line }) }
}
