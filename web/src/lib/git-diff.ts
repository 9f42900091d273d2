import { structuredPatch } from 'diff'

/** What `git diff HEAD` said when a run started, as its reporter recorded it. */
export interface GitDiff {
  text: string
  /** The reporter kept only the beginning. */
  isCut: boolean
}

const HEAD = /^git diff against HEAD: /
const PART = /^git diff, part (\d+) of (\d+)\n/

/**
 * Joins the parts that a log holds, in its order; of several starts it is the last that came whole. Null if there is
 * none: nothing was changed, or the reporter does not send it.
 */
export function joinGitDiff(lines: readonly string[]): GitDiff | null {
  let found: GitDiff | null = null
  let parts: string[] = []
  let isCut = false
  for (const line of lines) {
    if (HEAD.test(line)) {
      isCut = line.includes('of which the first')
      parts = []
    }
    const [head = '', number, count] = PART.exec(line) ?? []
    if (Number(number) !== parts.length + 1) continue
    parts.push(line.slice(head.length))
    if (parts.length === Number(count)) found = { text: parts.join(''), isCut }
  }
  return found
}

/** The lines in which two diffs differ, with some around them, as a diff of their own; empty if they are the same. */
export function diffBetween(before: string, after: string): string[] {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: 3 })
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ])
}
