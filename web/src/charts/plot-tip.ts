import type uPlot from 'uplot'
import type { Line } from '../lib/charts/line.ts'
import { nearest } from '../lib/charts/line.ts'
import { number } from '../lib/words.ts'
import { placeOf, type XKind } from './plot-axes.ts'

/** What is told at the cursor: the values there, greatest first, the nearest curve marked. */
const MOST_TOLD = 12

export interface Tip {
  element: HTMLElement
  hide(): void
  /** Returns the curve nearest to the cursor; null when it is over another plot. */
  tell(u: uPlot, lines: readonly Line[], focused: string | null): { near: string | null; here: boolean }
}

interface Row {
  line: Line
  i: number
  value: number
}

export function createTip(x: XKind, unit: string, colour: (name: string) => string): Tip {
  const element = document.createElement('div')
  element.dataset.tip = ''
  element.className =
    'pointer-events-none absolute z-10 hidden max-w-72 rounded border border-line bg-raised px-2 py-1 text-xs text-ink shadow-md'
  const hide = (): void => element.classList.add('hidden')

  const line = (text: string): HTMLElement => {
    const made = document.createElement('div')
    made.className = 'text-muted'
    made.textContent = text
    return made
  }
  const entry = (row: Row, near: boolean): HTMLElement => {
    const item = document.createElement('div')
    item.className = `flex items-center gap-2 whitespace-nowrap ${near ? 'font-semibold' : ''}`
    if (near) item.dataset.near = row.line.name
    const dot = document.createElement('span')
    dot.className = 'size-2 shrink-0 rounded-full'
    dot.style.background = colour(row.line.name)
    const name = document.createElement('span')
    name.className = 'min-w-0 flex-1 truncate'
    name.textContent = row.line.name
    const value = document.createElement('span')
    value.textContent = told(row)
    item.append(dot, name, value)
    return item
  }

  return {
    element,
    hide,
    tell(u, lines, focused) {
      const { left, top } = u.cursor
      const here = u.over.matches(':hover') && top !== undefined && top >= 0
      const seen = here ? lines : lines.filter(({ name }) => name === focused)
      if (left === undefined || left < 0 || seen.length === 0) {
        hide()
        return { near: null, here }
      }
      const at = u.posToVal(left, 'x')
      const rows = seen.flatMap((line): Row[] => {
        const i = nearest(line.steps, at)
        const value = line.mean?.values[i] ?? line.values[i]
        return i < 0 || value === undefined ? [] : [{ line, i, value }]
      })
      const near = here ? nearestRow(u, rows, left, top as number) : null
      rows.sort((a, b) => (Number.isNaN(b.value) ? -1 : Number.isNaN(a.value) ? 1 : b.value - a.value))
      const place = near === null ? -1 : rows.indexOf(near)
      const from = Math.max(0, Math.min(rows.length - MOST_TOLD, place - MOST_TOLD / 2))
      const first = near ?? rows[0]
      const step = first?.line.steps[first.i] ?? at
      const epoch = first?.line.epochs?.[first.i]
      const more = rows.length - MOST_TOLD
      element.replaceChildren(
        line(placeOf(x, step, unit) + (epoch === undefined ? '' : `, ${unit} ${number(epoch)}`)),
        ...rows.slice(from, from + MOST_TOLD).map((row) => entry(row, row === near)),
        ...(more > 0 ? [line(`and ${more} more`)] : []),
      )
      element.classList.remove('hidden')
      const right = left > u.over.clientWidth / 2
      element.style.left = right ? '' : `${left + 12}px`
      element.style.right = right ? `${u.over.clientWidth - left + 12}px` : ''
      element.style.top = '4px'
      return { near: near?.line.name ?? null, here }
    },
  }
}

/** With a mean both are told; of a group its spread, and over how many values. */
function told({ line, i, value }: Row): string {
  const raw = line.values[i] as number
  if (line.band) return `${number(value)} ± ${number(line.band.std[i])} (n ${line.band.n[i]})`
  return line.mean && !Object.is(raw, value) ? `${number(value)} (${number(raw)})` : number(value)
}

function nearestRow(u: uPlot, rows: readonly Row[], left: number, top: number): Row | null {
  let best: Row | null = null
  let least = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const y = Number.isFinite(row.value) ? u.valToPos(row.value, 'y') : Number.NaN
    const far = Number.isNaN(y)
      ? 1e9
      : Math.abs(y - top) + Math.abs(u.valToPos(row.line.steps[row.i] as number, 'x') - left) / 2
    if (far < least) {
      best = row
      least = far
    }
  }
  return best
}
