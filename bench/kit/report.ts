export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

/** One line of the table: a figure, what it is held against, and whether it is reached. */
export interface Figure {
  what: string
  value: string
  limit: string
  ratio?: number
  /** What goals.md asks for; `least` or `most`. */
  aim?: { least: number } | { most: number }
}

export function printFigures(title: string, figures: readonly Figure[]): void {
  const rows = figures.map((f) => [
    f.what,
    f.value,
    f.limit,
    f.ratio === undefined ? '' : f.ratio.toFixed(2),
    f.aim === undefined ? '' : 'least' in f.aim ? `>= ${f.aim.least}` : `<= ${f.aim.most}`,
    reached(f),
  ])
  const head = ['figure', 'measured', 'held against', 'ratio', 'aim', '']
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map((r) => (r[i] as string).length)))
  const line = (cells: string[]): string =>
    `| ${cells.map((c, i) => c.padEnd(widths[i] as number)).join(' | ')} |`
  console.log(`\n## ${title}\n`)
  console.log(line(head))
  console.log(`|${widths.map((w) => '-'.repeat(w + 2)).join('|')}|`)
  for (const row of rows) console.log(line(row))
}

function reached({ ratio, aim }: Figure): string {
  if (ratio === undefined || aim === undefined) return ''
  return ('least' in aim ? ratio >= aim.least : ratio <= aim.most) ? 'reached' : 'not reached'
}
