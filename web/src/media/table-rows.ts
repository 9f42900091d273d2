/** Tables as scripts send them: `{columns, data}` in JSON, or CSV. */
export interface TableData {
  columns: string[]
  rows: unknown[][]
}

const MAX_COLUMNS = 1_000

/** @throws Error if it is not a table */
export function readTable(bytes: ArrayBuffer): TableData {
  const text = new TextDecoder().decode(bytes)
  return /^\s*[{[]/.test(text) ? fromJson(JSON.parse(text)) : fromCsv(text)
}

function fromJson(value: unknown): TableData {
  const { columns, data } = (value ?? {}) as { columns?: unknown; data?: unknown }
  if (!Array.isArray(columns) || !Array.isArray(data)) throw new Error('This content is not a table')
  return {
    columns: columns.slice(0, MAX_COLUMNS).map(String),
    rows: data.filter((row): row is unknown[] => Array.isArray(row)),
  }
}

/** RFC 4180, with commas, semicolons or tabs: the one that the first line has most of. */
export function fromCsv(text: string): TableData {
  const rows = cellsOf(text, separatorOf(text))
  const [columns = [], ...data] = rows
  return { columns: columns.slice(0, MAX_COLUMNS), rows: data.map((row) => row.map(csvValue)) }
}

function separatorOf(text: string): string {
  const line = text.slice(0, Math.max(0, text.indexOf('\n')) || 1_000)
  const countOf = (sign: string): number => line.split(sign).length
  return [',', ';', '\t'].reduce((best, sign) => (countOf(sign) > countOf(best) ? sign : best))
}

function cellsOf(text: string, separator: string): string[][] {
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^"\\r\\n${separator}][^\\r\\n${separator}]*)?)(${separator}|\\r?\\n|\\r|$)`,
    'gy',
  )
  const rows: string[][] = []
  let row: string[] = []
  while (cell.lastIndex < text.length) {
    const from = cell.lastIndex
    const found = cell.exec(text)
    // A quote that is never closed: the rest is one cell.
    if (found === null) {
      row.push(text.slice(from))
      break
    }
    row.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
    if (found[3] === separator) {
      if (cell.lastIndex === text.length) row.push('')
      continue
    }
    rows.push(row)
    row = []
  }
  if (row.length > 0) rows.push(row)
  return rows
}

const csvValue = (cell: string): unknown =>
  /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(cell) && cell.length < 17 ? Number(cell) : cell

/** A condition of a column: `>0.5`, `!=cat`, or a part of the text. */
export function cellFilter(text: string): ((value: unknown) => boolean) | undefined {
  const [, sign = '', wanted = ''] = /^\s*(>=|<=|!=|=|>|<)?\s*(.*?)\s*$/s.exec(text) ?? []
  if (wanted === '') return undefined
  const number = Number(wanted)
  const isNumber = Number.isFinite(number)
  const same = (value: unknown): boolean =>
    typeof value === 'number' && isNumber
      ? value === number
      : cellText(value).toLowerCase() === wanted.toLowerCase()
  switch (sign) {
    case '>':
      return (value) => isNumber && typeof value === 'number' && value > number
    case '<':
      return (value) => isNumber && typeof value === 'number' && value < number
    case '>=':
      return (value) => isNumber && typeof value === 'number' && value >= number
    case '<=':
      return (value) => isNumber && typeof value === 'number' && value <= number
    case '=':
      return same
    case '!=':
      return (value) => !same(value)
    default:
      return (value) => cellText(value).toLowerCase().includes(wanted.toLowerCase())
  }
}

export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export interface TableOrder {
  column: number
  descending: boolean
}

/** The places of the rows that match, in order. Numbers come before text, and empty cells last. */
export function rowsOf(
  { columns, rows }: TableData,
  search: string,
  filters: Readonly<Record<number, string>>,
  order: TableOrder | undefined,
): number[] {
  const wanted = search.trim().toLowerCase()
  const checks = Object.entries(filters).flatMap(([column, text]) => {
    const check = Number(column) < columns.length ? cellFilter(text) : undefined
    return check ? [[Number(column), check] as const] : []
  })
  const found: number[] = []
  rows.forEach((row, i) => {
    if (!checks.every(([column, check]) => check(row[column]))) return
    if (wanted !== '' && !row.some((cell) => cellText(cell).toLowerCase().includes(wanted))) return
    found.push(i)
  })
  if (order === undefined) return found
  const keys = new Map(found.map((i) => [i, sortKey(rows[i]?.[order.column])]))
  const way = order.descending ? -1 : 1
  return found.sort((a, b) => compare(keys.get(a), keys.get(b), way) || a - b)
}

const sortKey = (value: unknown): number | string | null => {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  const text = cellText(value)
  return text === '' ? null : text
}

function compare(
  a: number | string | null | undefined,
  b: number | string | null | undefined,
  way: number,
): number {
  if (a == null || b == null) return (a == null ? 1 : 0) - (b == null ? 1 : 0)
  if (typeof a === 'number' && typeof b === 'number') return way * (a - b)
  if (typeof a === 'number') return -way
  if (typeof b === 'number') return way
  return way * (a < b ? -1 : a > b ? 1 : 0)
}
