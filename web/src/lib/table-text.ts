import { markdownTable } from 'markdown-table'

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

/** A LaTeX table with the rules of the `booktabs` package; the first row is the header. */
export function latexOf(rows: readonly (readonly Cell[])[]): string {
  const line = (row: readonly Cell[]): string => `  ${row.map(latexCell).join(' & ')} \\\\`
  const [head = [], ...rest] = rows
  const columns = numberColumns(rows).map((is) => (is ? 'r' : 'l'))
  return [
    '% \\usepackage{booktabs}',
    `\\begin{tabular}{${columns.join('')}}`,
    '  \\toprule',
    line(head),
    '  \\midrule',
    ...rest.map(line),
    '  \\bottomrule',
    '\\end{tabular}',
    '',
  ].join('\n')
}
