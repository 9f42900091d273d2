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
  /** The aim; `least` or `most`. */
  aim?: { least: number } | { most: number }
}

export function printFigures(title: string, figures: readonly Figure[]): void {
  console.log(`\n## ${title}\n`)
  console.log(tableOf(figures))
}

/** A table in Markdown that is aligned for people too. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((f) => [
    f.what,
    f.value,
    f.limit,
    f.ratio === undefined ? '' : f.ratio.toFixed(2),
    f.aim === undefined ? '' : 'least' in f.aim ? `>= ${f.aim.least}` : `<= ${f.aim.most}`,
    { true: 'reached', false: 'not reached', undefined: '' }[`${isReached(f)}`],
  ])
  const head = ['figure', 'measured', 'held against', 'ratio', 'aim', '']
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map((r) => (r[i] as string).length)))
  const line = (cells: string[]): string =>
    `| ${cells.map((c, i) => c.padEnd(widths[i] as number)).join(' | ')} |`
  return [line(head), `|${widths.map((w) => '-'.repeat(w + 2)).join('|')}|`, ...rows.map(line)].join('\n')
}

/** Undefined for a figure that has no aim. */
export function isReached({ ratio, aim }: Figure): boolean | undefined {
  if (ratio === undefined || aim === undefined) return undefined
  return 'least' in aim ? ratio >= aim.least : ratio <= aim.most
}

/** How many times better (over 1) or worse (under 1) than its aim; undefined for a figure that has none. */
export function timesBetter({ ratio, aim }: Figure): number | undefined {
  if (ratio === undefined || aim === undefined) return undefined
  return 'least' in aim ? ratio / aim.least : aim.most / ratio
}
