import { escapeHtml } from '../escape-html.ts'
import type { Scene, Shape } from './scene.ts'

/** The picture as SVG without styles, scripts or anything that loads. @param label for readers of the screen */
export function svgOf({ width, height, background, shapes }: Scene, label: string): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(label)}" font-family="Inter, system-ui, sans-serif">`,
    `<title>${escapeHtml(label)}</title>`,
    background === 'none' ? '' : `<rect width="${width}" height="${height}" fill="${background}"/>`,
    ...shapes.map(shapeText),
    '</svg>',
  ].join('')
}

function shapeText(shape: Shape): string {
  if (shape.kind === 'rect') {
    const { x, y, width, height, fill, radius = 0 } = shape
    const round = radius === 0 ? '' : ` rx="${radius}"`
    return `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${fill}"${round}/>`
  }
  if (shape.kind === 'text') {
    const { x, y, text, size, fill, anchor = 'start' } = shape
    return `<text x="${short(x)}" y="${short(y)}" font-size="${size}" fill="${fill}" text-anchor="${anchor}">${escapeHtml(text)}</text>`
  }
  const { stroke, width } = shape
  return `<path d="${pathOf(shape)}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linejoin="round" stroke-linecap="round"/>`
}

function pathOf({ xs, ys }: { xs: ArrayLike<number>; ys: ArrayLike<number> }): string {
  let path = ''
  let isOpen = false
  for (let i = 0; i < xs.length; i++) {
    const [x = Number.NaN, y = Number.NaN] = [xs[i], ys[i]]
    const isPoint = Number.isFinite(x) && Number.isFinite(y)
    // A point alone is a dot.
    if (isPoint) path += isOpen ? `L${short(x)} ${short(y)}` : `M${short(x)} ${short(y)}h0`
    isOpen = isPoint
  }
  return path
}

const short = (value: number): string => String(Math.round(value * 100) / 100)
