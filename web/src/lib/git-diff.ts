import { structuredPatch } from 'diff'

/** The output of `git diff HEAD` at the start of a run, as the reporter recorded it. */
export interface GitDiff {
  text: string
  /** Whether the reporter kept only the beginning. */
  isCut: boolean
}

const HEAD = /^git diff against HEAD: /
const PART = /^git diff, part (\d+) of (\d+)\n/

/** Where the reporter keeps the diff among the files of a run. */
export const DIFF_FILE = '.svc/diff.patch'
const CUT = /\n# cut: the first [\d,]+ of [\d,]+ bytes are kept\n$/

/** A diff from its file. */
export const gitDiffOf = (content: string): GitDiff => ({
  text: content.replace(CUT, ''),
  isCut: CUT.test(content),
})

/**
 * Joins the parts of a diff from the log. With several starts, the last complete diff is used. Null if there is none:
 * nothing was changed, or the reporter does not send diffs.
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

/** The difference between two diffs, with context lines; empty if they are equal. */
export function diffBetween(before: string, after: string): string[] {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: 3 })
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ])
}
