import type uPlot from 'uplot'
import type { Line } from '../lib/charts/line.ts'

/**
 * Draws values that are not finite on the x-axis at their epoch: NaN as a cross at the bottom, minus infinity as a
 * triangle pointing down at the bottom, infinity as one pointing up at the top.
 */
export function markNonFinite(u: uPlot, lines: readonly Line[], colour: (line: Line) => string): void {
  const { ctx, bbox } = u
  const size = 4 * devicePixelRatio
  const foot = bbox.top + bbox.height - size - devicePixelRatio
  const head = bbox.top + size + devicePixelRatio
  ctx.save()
  ctx.lineWidth = 1.5 * devicePixelRatio
  for (const line of lines) {
    const { steps, values, nonFinite } = line
    if (nonFinite === 0) continue
    ctx.fillStyle = colour(line)
    ctx.strokeStyle = colour(line)
    for (let i = 0; i < values.length; i++) {
      const value = values[i] ?? Number.NaN
      if (Number.isFinite(value)) continue
      const x = u.valToPos(steps[i] ?? Number.NaN, 'x', true)
      if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue
      ctx.beginPath()
      if (Number.isNaN(value)) {
        ctx.moveTo(x - size, foot - size)
        ctx.lineTo(x + size, foot + size)
        ctx.moveTo(x - size, foot + size)
        ctx.lineTo(x + size, foot - size)
        ctx.stroke()
        continue
      }
      const [y, tip] = value > 0 ? [head + size, head - size] : [foot - size, foot + size]
      ctx.moveTo(x - size, y)
      ctx.lineTo(x + size, y)
      ctx.lineTo(x, tip)
      ctx.fill()
    }
  }
  ctx.restore()
}
