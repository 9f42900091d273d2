import { markdownTable } from 'markdown-table'
import { lessIsBetter } from './batch-query.ts'

/** The text of a cell; null and undefined are empty. */
export type Cell = string | number | null | undefined

const textOf = (cell: Cell): string => String(cell ?? '')
const isNumber = (cell: Cell): boolean => textOf(cell).trim() !== '' && Number.isFinite(Number(textOf(cell)))

/** For each column, whether all its values are numbers, which are right-aligned. */
function numberColumns([head = [], ...rows]: readonly (readonly Cell[])[]): boolean[] {
  return head.map((_, i) => {
    const cells = rows.map((row) => row[i]).filter((cell) => textOf(cell) !== '')
    return cells.length > 0 && cells.every(isNumber)
  })
}

/** A Markdown table; the first row is the header. */
export function markdownOf(rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) =>
    row.map((cell) =>
      textOf(cell)
        .replaceAll('|', '\\|')
        .replace(/\s*[\r\n]+\s*/g, ' '),
    ),
  )
  return `${markdownTable(cells, { align: numberColumns(rows).map((is) => (is ? 'r' : 'l')) })}\n`
}

const LATEX: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '"': '\\textquotedbl{}',
}
const latexCell = (cell: Cell): string =>
  textOf(cell)
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .replace(/[\\~^<>|"]|[&%$#_{}]/g, (one) => LATEX[one] ?? `\\${one}`)

/** Whether lower or higher values of a column are better, by its head; undefined where no value is better. */
const goalOf = (head: string): 'min' | 'max' | undefined => {
  const [, metric] = /^(?:best|last|final|mean)[ .](.+)$/s.exec(head) ?? []
  return metric === undefined ? undefined : lessIsBetter(metric) ? 'min' : 'max'
}

/** Four significant digits. */
const rounded = (cell: Cell): string =>
  typeof cell === 'number' && Number.isFinite(cell) && !Number.isInteger(cell)
    ? String(Number(cell.toPrecision(4)))
    : latexCell(cell)

/** A LaTeX table with the rules of the `booktabs` package: four digits, the best results in bold; the first row is the header. */
export function latexOf(rows: readonly (readonly Cell[])[]): string {
  const [head = [], ...rest] = rows
  const best = head.map((name, i) => {
    const values = rest.flatMap((row) => (isNumber(row[i]) ? [Number(row[i])] : []))
    const goal = goalOf(textOf(name))
    return goal === undefined || values.length < 2 ? undefined : Math[goal](...values)
  })
  const line = (cells: readonly string[]): string => `  ${cells.join(' & ')} \\\\`
  const cells = (row: readonly Cell[]): string[] =>
    row.map((cell, i) =>
      isNumber(cell) && Number(cell) === best[i] ? `\\textbf{${rounded(cell)}}` : rounded(cell),
    )
  const columns = numberColumns(rows).map((is) => (is ? 'r' : 'l'))
  return [
    '% \\usepackage{booktabs}',
    `\\begin{tabular}{${columns.join('')}}`,
    '  \\toprule',
    line(head.map(latexCell)),
    '  \\midrule',
    ...rest.map((row) => line(cells(row))),
    '  \\bottomrule',
    '\\end{tabular}',
    '',
  ].join('\n')
}
