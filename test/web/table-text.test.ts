import { marked } from 'marked'
import { expect, test } from 'vitest'
import { latexOf, markdownOf } from '../../web/src/lib/table-text.ts'

const ROWS = [
  ['id', 'lr', 'note|s'],
  ['a_1', 0.5, 'x|y'],
  ['b&2', '1e-3', 'two\nlines'],
  ['c', null, '50% ~ $5 {x} #1 a\\b ^ "q"'],
]

test('a table as Markdown is parsed back to the same cells', () => {
  const text = markdownOf(ROWS)
  const [table] = marked.lexer(text)
  if (table?.type !== 'table') throw new Error(text)
  const cells = (row: { text: string }[]) => row.map((cell) => cell.text)
  expect(cells(table.header)).toEqual(['id', 'lr', 'note|s'])
  expect(table.align).toEqual(['left', 'right', 'left'])
  expect(table.rows.map(cells)).toEqual([
    ['a_1', '0.5', 'x|y'],
    ['b&2', '1e-3', 'two lines'],
    ['c', '', '50% ~ $5 {x} #1 a\\b ^ "q"'],
  ])
})

test('a table as LaTeX has every special character escaped', () => {
  expect(latexOf(ROWS).split('\n')).toEqual([
    '% \\usepackage{booktabs}',
    '\\begin{tabular}{lrl}',
    '  \\toprule',
    '  id & lr & note\\textbar{}s \\\\',
    '  \\midrule',
    '  a\\_1 & 0.5 & x\\textbar{}y \\\\',
    '  b\\&2 & 1e-3 & two lines \\\\',
    '  c &  & 50\\% \\textasciitilde{} \\$5 \\{x\\} \\#1 a\\textbackslash{}b \\textasciicircum{} \\textquotedbl{}q\\textquotedbl{} \\\\',
    '  \\bottomrule',
    '\\end{tabular}',
    '',
  ])
})

test('LaTeX has four digits, and the best result of a column in bold', () => {
  const text = latexOf([
    ['job', 'lr', 'best.val_loss', 'last.acc'],
    ['a', 0.000123456, 0.1234567, 0.5],
    ['b', 0.1, 0.0987654, 0.75],
  ])
  expect(text).toContain('a & 0.0001235 & 0.1235 & 0.5 \\\\')
  expect(text).toContain('b & 0.1 & \\textbf{0.09877} & \\textbf{0.75} \\\\')
})
