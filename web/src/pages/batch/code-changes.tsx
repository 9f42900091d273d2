import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { fetchFileText } from '../../lib/api/files.ts'
import { errorText } from '../../lib/api/request.ts'
import { fetchLog } from '../../lib/api/series.ts'
import { environmentOf } from '../../lib/batch-facts.ts'
import { batchName } from '../../lib/batch-name.ts'
import { DIFF_FILE, diffBetween, gitDiffOf, joinGitDiff } from '../../lib/git-diff.ts'
import { Copy } from '../../ui/copy.tsx'
import { DiffLines } from '../../ui/diff-lines.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'

/** A diff has at most 18 lines in the log, but lines of the script may contain the search text too. */
const MAX_LINES = 500

/** A run reports whether its working tree was dirty. A reporter that does not report this sends no diff. */
const isDirty = (batch: Batch): boolean => environmentOf(batch).dirty === true

/** The diff does not change after the start. */
const useGitDiff = (batch: Batch) =>
  useQuery({
    queryKey: ['git diff', batch.id],
    enabled: isDirty(batch),
    queryFn: async () => {
      const content = await fetchFileText(batch.id, DIFF_FILE)
      if (content !== null) return gitDiffOf(content)
      // Earlier reporters sent it to the log.
      const lines = await fetchLog(batch.id, { q: 'git diff', limit: MAX_LINES })
      return joinGitDiff(lines.map(({ line }) => line))
    },
    staleTime: 60_000,
  })

/** The uncommitted changes at the start of the run. */
export function UncommittedChanges({ batch }: { batch: Batch }) {
  const { data, error } = useGitDiff(batch)
  if (!isDirty(batch)) return null
  return (
    <section aria-label="Uncommitted changes" className="flex flex-col gap-2">
      <h2 className="flex items-center gap-2 font-medium">
        Uncommitted changes {data && <Copy text={data.text} />}
      </h2>
      {error ? (
        <Failure>{errorText(error)}</Failure>
      ) : data === undefined ? (
        <Waiting rows={2} />
      ) : data === null ? (
        <p className="text-muted">There were some, but the script did not record them.</p>
      ) : (
        <>
          {data.isCut && (
            <p className="text-amber">The diff was too large; only its beginning was recorded.</p>
          )}
          <DiffLines lines={linesOf(data.text)} label="Git diff against the commit" />
        </>
      )}
    </section>
  )
}

/** The code difference of two runs: their commits and their uncommitted changes. */
export function CodeChanges({ before, after }: { before: Batch; after: Batch }) {
  const [first, second] = [useGitDiff(before), useGitDiff(after)]
  const commits = [before, after].map((batch) => environmentOf(batch).commit)
  const [from, to] = commits
  const [old, now] = [textOf(before, first.data), textOf(after, second.data)]
  const between = useMemo(
    () => (old === undefined || now === undefined ? undefined : diffBetween(old, now)),
    [old, now],
  )
  if (typeof from !== 'string' || typeof to !== 'string') return null
  const error = first.error ?? second.error
  const missingDiffs = [before, after].filter((_, i) => (i === 0 ? first.data : second.data) === null)
  return (
    <section aria-label="Code" className="flex flex-col gap-2">
      <h3 className="font-medium">Code</h3>
      {from === to ? (
        <p>
          Both ran commit <code>{from.slice(0, 12)}</code>.
        </p>
      ) : (
        <p className="flex flex-wrap items-center gap-2">
          The commits differ. To see how, run <code>{gitCommand(from, to)}</code>{' '}
          <Copy text={gitCommand(from, to)} />
        </p>
      )}
      {error ? (
        <Failure>{errorText(error)}</Failure>
      ) : missingDiffs.length > 0 ? (
        <p className="text-muted">
          {missingDiffs.map(batchName).join(' and ')} had uncommitted changes that were not recorded.
        </p>
      ) : between === undefined ? (
        <Waiting rows={2} />
      ) : between.length > 0 ? (
        <>
          <p>How their uncommitted changes differ:</p>
          <DiffLines lines={between} label="Differences of the uncommitted changes" />
        </>
      ) : (
        <p className="text-muted">
          {isDirty(before) ? 'Their uncommitted changes are the same.' : 'Neither had uncommitted changes.'}
        </p>
      )}
    </section>
  )
}

const gitCommand = (from: string, to: string): string => `git diff ${from} ${to}`
const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n')

/** The text of a diff, empty without changes; undefined until loaded, or if it was not recorded. */
const textOf = (batch: Batch, diff: { text: string } | null | undefined): string | undefined =>
  isDirty(batch) ? diff?.text : ''
