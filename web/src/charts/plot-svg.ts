import type uPlot from 'uplot'
import { type BandKind, columnsOf } from '../lib/charts/columns.ts'
import type { Line } from '../lib/charts/line.ts'
import { itemAt } from '../lib/checked.ts'
import { number } from '../lib/words.ts'
import { placeOf, type XKind } from './plot-axes.ts'

const text = (value: string): string => value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
const MARKS = 6

export interface Look {
  title: string
  x: XKind
  log: boolean
  band: BandKind
  ink: string
  grid: string
  width: number
  colour: (name: string) => string
}

/** What a plot shows, as a drawing that scales: curves, bands, marks, axes, and whose curve is whose. */
export function svgOf(u: uPlot, lines: readonly Line[], look: Look): string {
  const left = u.over.offsetLeft
  const top = u.over.offsetTop + 18
  const { clientWidth: width, clientHeight: height } = u.over
  const x = (value: number): number => left + u.valToPos(value, 'x')
  const y = (value: number): number => top + u.valToPos(value, 'y')
  const round = (value: number): string => String(Math.round(value * 100) / 100)
  const [from, to] = [u.scales.x?.min ?? 0, u.scales.x?.max ?? 1]
  const drawable = (value: number): boolean => Number.isFinite(value) && (!look.log || value > 0)

  type Curve = { steps: number[]; values: number[] }
  const pathOf = ({ steps, values }: Curve): string => {
    let path = ''
    let pen = false
    steps.forEach((step, i) => {
      const value = values[i] ?? Number.NaN
      // One point beyond either end, so that the curve leaves the plot as it does on the page.
      const seen = (steps[i + 1] ?? step) >= from && (steps[i - 1] ?? step) <= to
      if (!drawable(value) || !seen) pen = false
      else {
        path += `${pen ? 'L' : 'M'}${round(x(step))} ${round(y(value))}`
        pen = true
      }
    })
    return path
  }
  const { raw, means, high, low } = columnsOf(lines, look.band)
  const stroke = (curve: Curve, name: string, opacity: number): string =>
    `<path d="${pathOf(curve)}" fill="none" stroke="${look.colour(name)}" stroke-width="${look.width}" stroke-opacity="${opacity}" stroke-linejoin="round"/>`
  const body: string[] = []
  high.forEach((upper, i) => {
    const lower = itemAt(low, i)
    const back = { steps: lower.steps.toReversed(), values: lower.values.toReversed() }
    const there = upper.steps.flatMap((step, k) =>
      drawable(upper.values[k] ?? Number.NaN) ? [[step, upper.values[k]]] : [],
    )
    const again = back.steps.flatMap((step, k) =>
      drawable(back.values[k] ?? Number.NaN) ? [[step, back.values[k]]] : [],
    )
    const points = [...there, ...again].map(
      ([step, value]) => `${round(x(step as number))},${round(y(value as number))}`,
    )
    body.push(
      `<polygon points="${points.join(' ')}" fill="${look.colour(itemAt(lines, i).name)}" fill-opacity="0.18"/>`,
    )
  })
  for (const [i, line] of lines.entries())
    body.push(stroke(itemAt(raw, i), line.name, means.length > 0 ? 0.25 : 1))
  for (const [i, curve] of means.entries()) body.push(stroke(curve, itemAt(lines, i).name, 1))
  for (const { name, steps, values } of lines) {
    values.forEach((value, i) => {
      if (Number.isFinite(value)) return
      const at = round(x(steps[i] ?? Number.NaN))
      const [sign, place] = Number.isNaN(value) ? ['×', height] : value > 0 ? ['▲', 12] : ['▼', height]
      body.push(
        `<text x="${at}" y="${top + place - 2}" text-anchor="middle" fill="${look.colour(name)}">${sign}</text>`,
      )
    })
  }
  const axes: string[] = []
  for (let i = 0; i <= MARKS; i++) {
    const down = (height * i) / MARKS
    const across = (width * i) / MARKS
    axes.push(
      `<line x1="${left}" x2="${left + width}" y1="${top + down}" y2="${top + down}" stroke="${look.grid}"/>`,
      `<text x="${left - 6}" y="${top + down + 4}" text-anchor="end">${text(number(u.posToVal(down, 'y')))}</text>`,
    )
    if (i % 2 === 0) {
      const said = placeOf(look.x, u.posToVal(across, 'x')).replace(/^epoch | after the start$/g, '')
      const anchor = i === 0 ? 'start' : i === MARKS ? 'end' : 'middle'
      axes.push(
        `<text x="${left + across}" y="${top + height + 16}" text-anchor="${anchor}">${text(said)}</text>`,
      )
    }
  }
  const names = lines.slice(0, 40).map(({ name }, i) => {
    const at = top + height + 36 + i * 16
    return `<rect x="${left}" y="${at - 8}" width="10" height="10" rx="5" fill="${look.colour(name)}"/><text x="${left + 16}" y="${at}">${text(name)}</text>`
  })
  const ground = getComputedStyle(document.body).backgroundColor
  const whole = { width: u.width, height: top + height + 36 + names.length * 16 }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${whole.width} ${whole.height}" width="${whole.width}" height="${whole.height}" font-family="Inter, Arial, sans-serif" font-size="11" fill="${look.ink}">
<rect width="100%" height="100%" fill="${ground}"/>
<text x="${left}" y="14" font-size="13" font-weight="600">${text(look.title)}</text>
${axes.join('\n')}
<clipPath id="plot"><rect x="${left}" y="${top}" width="${width}" height="${height}"/></clipPath>
<g clip-path="url(#plot)">
${body.join('\n')}
</g>
${names.join('\n')}
</svg>
`
}
