import uPlot from 'uplot'
import { align } from '../lib/charts/align.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import { type Line, nearest, smoothed } from '../lib/charts/line.ts'
import type { Theme } from '../lib/theme.ts'
import { exact, number } from '../lib/words.ts'

/** One plot on a canvas. Knows curves and pixels; where they come from is its owner's business. */
export interface PlotOptions {
  x: 'epoch' | 'time'
  log: boolean
  smooth: number
  theme: Theme
  colourOf: ColourOf
  /** Shared by the plots whose cursors go together. */
  sync: string
  onZoom: (range: [number, number]) => void
  onZoomOut: () => void
  /** The curve nearest to the cursor. */
  onNear: (name: string | null) => void
  /** The curve that is lit up on the page; plots that only follow the cursor tell of it alone. */
  focused: () => string | null
}
export interface Plot {
  draw(lines: readonly Line[], zoom: [number, number] | undefined): { unshown: number }
  light(name: string | null): void
  resize(width: number): void
  picture(): HTMLCanvasElement
  destroy(): void
}
export const PLOT_HEIGHT = 210
const MOST_TOLD = 12

export function createPlot(root: HTMLElement, lines: readonly Line[], options: PlotOptions): Plot {
  const style = getComputedStyle(root)
  const ink = style.color
  const grid = options.theme === 'dark' ? 'rgba(255,255,255,.09)' : 'rgba(0,0,0,.08)'
  const faded = options.smooth > 0
  const width = lines.length > 20 ? 1 : 1.5
  let shown: readonly Line[] = lines
  let zoom: [number, number] | undefined
  const tip = document.createElement('div')
  tip.className =
    'pointer-events-none absolute z-10 hidden max-w-64 rounded border border-line bg-raised px-2 py-1 text-xs shadow-md'

  const curve = (line: Line, raw: boolean): uPlot.Series => ({
    label: line.name,
    stroke: options.colourOf(line.name, options.theme),
    alpha: raw && faded ? 0.25 : 1,
    width,
    points: { show: line.steps.length < 2, size: 5 },
  })
  const axis: uPlot.Axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
    font: '11px system-ui, sans-serif',
  }
  const plot: uPlot = new uPlot(
    {
      width: Math.max(80, root.clientWidth),
      height: PLOT_HEIGHT,
      legend: { show: false },
      focus: { alpha: 0.2 },
      padding: [8, 8, 0, 0],
      cursor: {
        sync: { key: options.sync, scales: ['x', null] },
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        y: false,
        bind: {
          dblclick: () => () => {
            options.onZoomOut()
            return null
          },
        },
      },
      scales: {
        x: {
          time: options.x === 'time',
          range: (_, min, max) => zoom ?? (min === max ? [min - 1, max + 1] : [min, max]),
        },
        y: { distr: options.log ? 3 : 1 },
      },
      axes: [
        {
          ...axis,
          space: 60,
          size: 28,
          ...(options.x === 'time' && {
            values: (_: uPlot, splits: number[], __: number, ___: number, step: number) =>
              splits.map((s) => timeOf(s, step)),
          }),
          ...(options.x === 'epoch' && {
            incrs: [1, 2, 5]
              .flatMap((n) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].map((ten) => n * ten))
              .sort((a, b) => a - b),
            values: (_: uPlot, splits: number[]) => splits.map(number),
          }),
        },
        { ...axis, size: 58, values: (_, splits) => splits.map((v) => (v === null ? '' : number(v))) },
      ],
      series: [
        {},
        ...lines.map((line) => curve(line, true)),
        ...(faded ? lines.map((line) => curve(line, false)) : []),
      ],
      hooks: {
        setSelect: [
          (u) => {
            if (u.select.width < 4) return
            const from = u.posToVal(u.select.left, 'x')
            const to = u.posToVal(u.select.left + u.select.width, 'x')
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            options.onZoom([Math.floor(from), Math.ceil(to)])
          },
        ],
        setCursor: [(u) => tell(u)],
        draw: [(u) => markNonFinite(u, shown, (name) => options.colourOf(name, options.theme))],
        ready: [(u) => u.over.append(tip)],
      },
    },
    [[], ...lines.flatMap(() => (faded ? [[], []] : [[]]))] as uPlot.AlignedData,
    root,
  )
  plot.over.addEventListener('mouseleave', () => {
    tip.classList.add('hidden')
    options.onNear(null)
  })

  /** The values at the cursor, greatest first, the nearest curve marked. */
  function tell(u: uPlot): void {
    const { left, top } = u.cursor
    if (left === undefined || left < 0 || shown.length === 0) {
      tip.classList.add('hidden')
      return
    }
    const at = u.posToVal(left, 'x')
    const here = u.over.matches(':hover') && top !== undefined && top >= 0
    const told = here ? shown : shown.filter((line) => line.name === options.focused())
    if (told.length === 0) {
      tip.classList.add('hidden')
      return
    }
    const rows = told.flatMap((line) => {
      const i = nearest(line.steps, at)
      return i < 0
        ? []
        : [{ name: line.name, step: line.steps[i] as number, value: line.values[i] as number }]
    })
    const near = here
      ? rows.reduce<(typeof rows)[number] | null>((best, row) => {
          const far = (one: typeof row): number => {
            const y = Number.isFinite(one.value) ? u.valToPos(one.value, 'y') : Number.NaN
            return Number.isNaN(y)
              ? 1e9
              : Math.abs(y - (top as number)) + Math.abs(u.valToPos(one.step, 'x') - left) / 2
          }
          return best === null || far(row) < far(best) ? row : best
        }, null)
      : null
    if (here) options.onNear(near?.name ?? null)
    rows.sort((a, b) => (Number.isNaN(b.value) ? -1 : Number.isNaN(a.value) ? 1 : b.value - a.value))
    const place = near === null ? -1 : rows.indexOf(near)
    const from = Math.max(0, Math.min(rows.length - MOST_TOLD, place - MOST_TOLD / 2))
    const head = document.createElement('div')
    head.className = 'text-muted'
    const step = near?.step ?? rows[0]?.step ?? at
    head.textContent =
      options.x === 'epoch' ? `epoch ${number(step)}` : exact(new Date(step * 1000).toISOString())
    const more = rows.length - MOST_TOLD
    const foot = document.createElement('div')
    foot.className = 'text-muted'
    foot.textContent = more > 0 ? `and ${more} more` : ''
    tip.replaceChildren(
      head,
      ...rows.slice(from, from + MOST_TOLD).map((row) => {
        const item = document.createElement('div')
        item.className = `flex items-center gap-2 whitespace-nowrap ${row === near ? 'font-semibold' : ''}`
        const dot = document.createElement('span')
        dot.className = 'size-2 shrink-0 rounded-full'
        dot.style.background = options.colourOf(row.name, options.theme)
        const value = document.createElement('span')
        value.textContent = number(row.value)
        const name = document.createElement('span')
        name.className = 'min-w-0 flex-1 truncate'
        name.textContent = row.name
        item.append(dot, name, value)
        return item
      }),
      foot,
    )
    tip.classList.remove('hidden')
    const right = left > u.over.clientWidth / 2
    tip.style.left = right ? '' : `${left + 12}px`
    tip.style.right = right ? `${u.over.clientWidth - left + 12}px` : ''
    tip.style.top = '4px'
  }

  return {
    draw(next, range) {
      shown = next
      zoom = range
      const smooth = faded
        ? next.map((line) => ({ steps: line.steps, values: smoothed(line, options.smooth) }))
        : []
      const pixels = Math.round(Math.max(100, plot.over.clientWidth) * devicePixelRatio)
      const { columns, unshown } = align([...next, ...smooth], options.log, pixels)
      plot.setData(columns as uPlot.AlignedData)
      return { unshown }
    },
    light(name) {
      if (shown.length > 60) return
      const i = name === null ? -1 : shown.findIndex((line) => line.name === name)
      plot.setSeries(i < 0 ? null : i + 1 + (faded ? shown.length : 0), { focus: i >= 0 })
    },
    resize: (width) => {
      if (Math.abs(width - plot.width) >= 1) plot.setSize({ width, height: PLOT_HEIGHT })
    },
    picture: () => plot.ctx.canvas,
    destroy: () => plot.destroy(),
  }
}

/** NaN and negative infinity at the foot, infinity at the head of the plot: a triangle at their epoch. */
function markNonFinite(u: uPlot, lines: readonly Line[], colour: (name: string) => string): void {
  const { ctx, bbox } = u
  const size = 4 * devicePixelRatio
  ctx.save()
  for (const { name, steps, values } of lines) {
    ctx.fillStyle = colour(name)
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number
      if (Number.isFinite(value)) continue
      const x = u.valToPos(steps[i] as number, 'x', true)
      if (x < bbox.left || x > bbox.left + bbox.width) continue
      const up = value === Number.POSITIVE_INFINITY
      const y = up ? bbox.top : bbox.top + bbox.height
      const tipY = up ? y + 2 * size : y - 2 * size
      ctx.beginPath()
      ctx.moveTo(x - size, y)
      ctx.lineTo(x + size, y)
      ctx.lineTo(x, tipY)
      ctx.fill()
    }
  }
  ctx.restore()
}

/** A day where the marks are days apart, else the time, with seconds where they matter. */
const timeOf = (seconds: number, step: number): string => {
  const at = new Date(seconds * 1000)
  if (step >= 86_400) return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  return at.toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(step < 60 && { second: '2-digit' }),
  })
}
