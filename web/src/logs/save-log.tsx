import { useState } from 'react'
import { useBatchContext } from '../batch/context.ts'
import { errorText } from '../lib/api/request.ts'
import type { LogSource } from '../lib/api/series.ts'
import type { LogSearch } from '../lib/log-search.ts'
import { saveFile } from '../lib/save-file.ts'
import { count, some } from '../lib/words.ts'
import { Button } from '../ui/controls.tsx'
import { showToast } from '../ui/toasts.tsx'

const PAGE = 500
/** The limit of a download, which is assembled in memory. */
const MAX_SAVED = 200_000

/** Downloads every matching line, from the first one, as a text file. */
export function SaveLog({ search, name }: { search: LogSearch; name: string }) {
  const { log } = useBatchContext()
  const [done, setDone] = useState<number | null>(null)
  const save = async (): Promise<void> => {
    if (log === null) return
    try {
      const { text, lines } = await readAll(log, search, setDone)
      saveFile(`${name}.log`, text)
      if (lines >= MAX_SAVED)
        showToast(`Saved the first ${count(lines)} lines: narrow the filter for the others.`)
    } catch (error) {
      showToast(`Not saved: ${errorText(error)}`, { bad: true })
    } finally {
      setDone(null)
    }
  }
  return (
    <Button disabled={done !== null} onClick={() => void save()}>
      {done === null ? 'Download' : `${some(done, 'line')} …`}
    </Button>
  )
}

/** Reads up to MAX_SAVED matching lines, page by page. */
async function readAll(log: LogSource, search: LogSearch, onProgress: (lines: number) => void) {
  const { level, stream, q, job } = search
  const parts: string[] = []
  let lines = 0
  onProgress(0)
  for (let after = 0; lines < MAX_SAVED; ) {
    const page = await log({ level, stream, q, job_id: job, after, limit: PAGE })
    parts.push(page.map((one) => `${one.timestamp} ${one.level} ${one.job_id} ${one.line}\n`).join(''))
    lines += page.length
    after = page.at(-1)?.db_id ?? 0
    onProgress(lines)
    if (page.length < PAGE) break
  }
  return { text: new Blob(parts, { type: 'text/plain' }), lines }
}
