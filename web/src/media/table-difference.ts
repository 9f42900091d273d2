import { cellText, type TableData } from './table-rows.ts'

/** What changed from one table to another, as a table. Pure. */
export interface TableDifference {
  /** The rows that differ: their values now, and beside columns with changes those of before, or by how much they grew. */
  table: TableData
  changed: number
  added: number
  removed: number
  equal: number
  /** The column that rows are matched by; without one, by their places. */
  by: string | undefined
  /** Columns that only the table before has. */
  gone: string[]
}

/** The columns that may name rows. */
const MAX_KEY_COLUMNS = 5

export function tableDifference(now: TableData, before: TableData): TableDifference {
  const common = now.columns.flatMap((name, i) => {
    const j = before.columns.indexOf(name)
    return j < 0 || now.columns.indexOf(name) !== i ? [] : [{ name, i, j }]
  })
  const key = common.slice(0, MAX_KEY_COLUMNS).find(({ i, j }) => names(now, i, before, j))
  const pairs = pairsOf(now, before, key)
  const isEqual = ([row, old]: Pair): boolean =>
    common.every(({ i, j }) => cellText(row?.[i]) === cellText(old?.[j]))
  const kept = pairs.flatMap((pair) => {
    const state =
      pair[1] === undefined
        ? 'added'
        : pair[0] === undefined
          ? 'removed'
          : isEqual(pair)
            ? 'equal'
            : 'changed'
    return [{ pair, state }]
  })
  const count = (state: string): number => kept.filter((one) => one.state === state).length
  const shown = kept.filter(({ state }) => state !== 'equal')
  const columns = columnsOf(
    now,
    common,
    shown.filter(({ state }) => state === 'changed').map(({ pair }) => pair),
  )
  return {
    table: {
      columns: ['difference', ...columns.map(({ title }) => title)],
      rows: shown.map(({ pair, state }) => [state, ...columns.map(({ at }) => at(pair))]),
    },
    changed: count('changed'),
    added: count('added'),
    removed: count('removed'),
    equal: count('equal'),
    by: key?.name,
    gone: before.columns.filter((name) => !now.columns.includes(name)),
  }
}

type Row = readonly unknown[] | undefined
type Pair = readonly [now: Row, before: Row]
interface Common {
  name: string
  i: number
  j: number
}

/** Whether a column names rows: whole numbers or texts, each once, and most of them in both tables. */
function names(now: TableData, i: number, before: TableData, j: number): boolean {
  const values = ({ rows }: TableData, at: number): Set<string> | undefined => {
    const found = new Set<string>()
    for (const row of rows) {
      const value = row[at]
      const isName = typeof value === 'string' ? value !== '' : Number.isInteger(value)
      if (!isName || found.has(cellText(value))) return undefined
      found.add(cellText(value))
    }
    return found
  }
  const [here, there] = [values(now, i), values(before, j)]
  if (here === undefined || there === undefined || here.size === 0) return false
  const both = [...here].filter((one) => there.has(one)).length
  return 2 * both >= Math.min(here.size, there.size)
}

function pairsOf(now: TableData, before: TableData, key: Common | undefined): Pair[] {
  if (key === undefined)
    return Array.from({ length: Math.max(now.rows.length, before.rows.length) }, (_, n) => [
      now.rows[n],
      before.rows[n],
    ])
  const old = new Map(before.rows.map((row) => [cellText(row[key.j]), row]))
  const here = new Set(now.rows.map((row) => cellText(row[key.i])))
  return [
    ...now.rows.map((row): Pair => [row, old.get(cellText(row[key.i]))]),
    ...before.rows.flatMap((row): Pair[] => (here.has(cellText(row[key.j])) ? [] : [[undefined, row]])),
  ]
}

interface Column {
  title: string
  at: (pair: Pair) => unknown
}

/** Each column, and after one with changes how much its numbers grew, or its texts of before. */
function columnsOf(now: TableData, common: readonly Common[], changed: readonly Pair[]): Column[] {
  const byPlace = new Map(common.map((one) => [one.i, one]))
  return now.columns.flatMap((title, i): Column[] => {
    const of = byPlace.get(i)
    const value: Column = { title, at: ([row, old]) => (row === undefined ? of && old?.[of.j] : row[i]) }
    if (of === undefined) return [value]
    const differing = changed.filter(([row, old]) => cellText(row?.[i]) !== cellText(old?.[of.j]))
    if (differing.length === 0) return [value]
    const areNumbers = differing.every(([row, old]) =>
      [row?.[i], old?.[of.j]].every((one) => typeof one === 'number'),
    )
    const isChanged = new Set(differing.map(([row]) => row))
    const beside: Column = {
      title: areNumbers ? `Δ ${title}` : `${title} before`,
      at: ([row, old]) =>
        row === undefined || !isChanged.has(row)
          ? null
          : areNumbers
            ? Number(row[i]) - Number(old?.[of.j])
            : old?.[of.j],
    }
    return [value, beside]
  })
}
