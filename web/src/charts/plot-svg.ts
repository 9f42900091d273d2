import type uPlot from 'uplot'
import { type BandKind, columnsOf } from '../lib/charts/columns.ts'
import type { Line } from '../lib/charts/line.ts'
import { itemAt } from '../lib/checked.ts'
import { axisName, type Curves, scaleOf } from './curves.ts'
import { type TicksByAxis, type XKind, xLabel } from './plot-axes.ts'

const text = (value: string): string => value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
const round = (value: number): string => String(Math.round(value * 100) / 100)

export interface Look {
  title: string
  x: XKind
  unit: string
  curves: Curves
  log: boolean
  band: BandKind
  ticks: TicksByAxis
  ink: string
  grid: string
  width: number
  colour: (line: Line) => string
  dashes: (line: Line) => readonly number[]
}

/** Margins around the plot, in pixels. */
const TOP = 30
const SIDE = 66
const EDGE = 14
/** Space below the plot for ticks and the name of the axis. */
const FOOT = 46
const ROW = 17
const MAX_NAMES = 60
/** Average width of a letter, used to break the legend into rows. */
const LETTER = 6.3

/** Drawn at twice the size, so that the image is sharp on high-resolution screens. */
const SCALE = 2

/** Renders a plot as SVG: title, curves, bands, marks, axes with names, and the legend. */
export function svgOf(u: uPlot, lines: readonly Line[], look: Look): string {
  const { clientWidth: width, clientHeight: height } = u.over
  const right = look.curves.right.size > 0
  const whole = { width: SIDE + width + (right ? SIDE : EDGE), height: TOP + height + FOOT }
  const { items, rows } = legendOf(lines, look, width)
  whole.height += rows * ROW + (rows > 0 ? EDGE : 0)
  const ground = getComputedStyle(document.body).backgroundColor
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${whole.width} ${whole.height}" width="${SCALE * whole.width}" height="${SCALE * whole.height}" font-family="Inter, Arial, sans-serif" font-size="11" fill="${look.ink}">
<rect width="100%" height="100%" fill="${ground}"/>
<text x="${SIDE}" y="18" font-size="13" font-weight="600">${text(look.title)}</text>
${axesOf(u, look, width, height).join('\n')}
<clipPath id="plot"><rect x="${SIDE}" y="${TOP}" width="${width}" height="${height}"/></clipPath>
<g clip-path="url(#plot)">
${curvesOf(u, lines, look, height).join('\n')}
</g>
<g transform="translate(${SIDE} ${TOP + height + FOOT + ROW / 2})">
${items.join('\n')}
</g>
</svg>
`
}

function axesOf(u: uPlot, look: Look, width: number, height: number): string[] {
  const { ticks, curves } = look
  const foot = TOP + height
  const drawn: string[] = []
  for (const side of ['left', 'right'] as const) {
    if (side === 'right' && curves.right.size === 0) continue
    const scale = side === 'left' ? 'y' : 'y2'
    const [at, anchor] = side === 'left' ? [SIDE - 8, 'end'] : [SIDE + width + 8, 'start']
    ticks[side].places.forEach((place, i) => {
      const said = ticks[side].texts[i] ?? ''
      const y = round(TOP + u.valToPos(place, scale))
      if (said === '') return
      if (side === 'left')
        drawn.push(`<line x1="${SIDE}" x2="${SIDE + width}" y1="${y}" y2="${y}" stroke="${look.grid}"/>`)
      drawn.push(`<text x="${at}" y="${y}" dy="4" text-anchor="${anchor}">${text(said)}</text>`)
    })
    const { offset } = ticks[side]
    if (offset !== null)
      drawn.push(`<text x="${at}" y="${TOP - 5}" text-anchor="${anchor}">${text(offset)}</text>`)
    const name = axisName(curves, side)
    const x = side === 'left' ? 12 : SIDE + width + SIDE - 6
    drawn.push(
      `<text transform="translate(${x} ${TOP + height / 2}) rotate(-90)" text-anchor="middle">${text(name)}</text>`,
    )
  }
  ticks.x.places.forEach((place, i) => {
    const said = ticks.x.texts[i] ?? ''
    if (said === '') return
    const x = round(SIDE + u.valToPos(place, 'x'))
    drawn.push(
      `<line x1="${x}" x2="${x}" y1="${TOP}" y2="${foot + 4}" stroke="${look.grid}"/>`,
      `<text x="${x}" y="${foot + 18}" text-anchor="middle">${text(said)}</text>`,
    )
  })
  const name = xLabel(look.x, look.unit, ticks.x)
  drawn.push(`<text x="${SIDE + width / 2}" y="${foot + 36}" text-anchor="middle">${text(name)}</text>`)
  return drawn
}

interface Curve {
  steps: number[]
  values: number[]
}

function curvesOf(u: uPlot, lines: readonly Line[], look: Look, height: number): string[] {
  const x = (value: number): number => SIDE + u.valToPos(value, 'x')
  const y = (line: Line, value: number): number => TOP + u.valToPos(value, scaleOf(look.curves, line))
  const [from, to] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 1]
  const drawable = (value: number): boolean => Number.isFinite(value) && (!look.log || value > 0)
  const pathOf = ({ steps, values }: Curve, line: Line): string => {
    let path = ''
    let pen = false
    // A point between gaps gets a line without length, whose round ends are a dot.
    let single = false
    const end = (): void => {
      if (single) path += 'h0'
      pen = single = false
    }
    steps.forEach((step, i) => {
      const value = values[i] ?? Number.NaN
      // Includes one point beyond either end, so that curves leave the plot as they do on the page.
      const isNearRange = (steps[i + 1] ?? step) >= from && (steps[i - 1] ?? step) <= to
      if (!drawable(value) || !isNearRange) end()
      else {
        single = !pen
        path += `${pen ? 'L' : 'M'}${round(x(step))} ${round(y(line, value))}`
        pen = true
      }
    })
    end()
    return path
  }
  const { raw, means, high, low } = columnsOf(lines, look.band)
  const stroke = (curve: Curve, line: Line, opacity: number): string =>
    `<path d="${pathOf(curve, line)}" fill="none" stroke="${look.colour(line)}" stroke-width="${look.width}"${dashesOf(look, line)} stroke-opacity="${opacity}" stroke-linejoin="round" stroke-linecap="round"/>`
  const outlineOf = ({ steps, values }: Curve, line: Line): string[] =>
    steps.flatMap((step, k) => {
      const value = values[k] ?? Number.NaN
      return drawable(value) ? [`${round(x(step))},${round(y(line, value))}`] : []
    })
  const bands = high.map((upper, i) => {
    const line = itemAt(lines, i)
    const points = [...outlineOf(upper, line), ...outlineOf(itemAt(low, i), line).reverse()]
    return `<polygon points="${points.join(' ')}" fill="${look.colour(line)}" fill-opacity="0.18"/>`
  })
  const marks = lines.flatMap((line) =>
    line.values.flatMap((value, i) => {
      if (Number.isFinite(value)) return []
      const at = round(x(line.steps[i] ?? Number.NaN))
      const [sign, place] = Number.isNaN(value) ? ['×', height] : value > 0 ? ['▲', 12] : ['▼', height]
      return `<text x="${at}" y="${TOP + place - 2}" text-anchor="middle" fill="${look.colour(line)}">${sign}</text>`
    }),
  )
  return [
    ...bands,
    ...lines.map((line, i) => stroke(itemAt(raw, i), line, means.length > 0 ? 0.25 : 1)),
    ...means.map((curve, i) => stroke(curve, itemAt(lines, i), 1)),
    ...marks,
  ]
}

const dashesOf = (look: Look, line: Line): string => {
  const dashes = look.dashes(line)
  return dashes.length > 0 ? ` stroke-dasharray="${dashes.join(' ')}"` : ''
}

/** The legend, in as many columns as fit. */
function legendOf(lines: readonly Line[], look: Look, width: number): { items: string[]; rows: number } {
  const shown = lines.slice(0, MAX_NAMES)
  const longest = Math.max(0, ...shown.map(({ name }) => name.length))
  const column = 34 + longest * LETTER
  const columns = Math.max(1, Math.floor(width / column))
  const items = shown.map((line, i) => {
    const place = `translate(${round((i % columns) * column)} ${Math.floor(i / columns) * ROW})`
    return `<g transform="${place}"><line x2="18" y1="-4" y2="-4" stroke="${look.colour(line)}" stroke-width="2"${dashesOf(look, line)}/><text x="24">${text(line.name)}</text></g>`
  })
  const rest = lines.length - shown.length
  const rows = Math.ceil(shown.length / columns)
  if (rest <= 0) return { items, rows }
  return { items: [...items, `<text y="${rows * ROW}">and ${rest} more</text>`], rows: rows + 1 }
}
