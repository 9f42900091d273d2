import type { Line } from '../lib/charts/line.ts'
import { saveCsvFile, saveFile } from '../lib/save-file.ts'

/** The canvas is clear where nothing is drawn; a picture has the ground of the page. */
export function savePicture(name: string, canvas: HTMLCanvasElement): void {
  const whole = document.createElement('canvas')
  whole.width = canvas.width
  whole.height = canvas.height
  const ctx = whole.getContext('2d')
  if (ctx === null) return
  ctx.fillStyle = getComputedStyle(document.body).backgroundColor
  ctx.fillRect(0, 0, whole.width, whole.height)
  ctx.drawImage(canvas, 0, 0)
  whole.toBlob((blob) => blob && saveFile(`${name}.png`, blob))
}

export const saveDrawing = (name: string, svg: string): void =>
  saveFile(`${name}.svg`, new Blob([svg], { type: 'image/svg+xml' }))

/** The drawn points with their times, means and the spread of a group. */
export function saveCsv(name: string, lines: readonly Line[]): void {
  const timed = lines.some((line) => line.epochs)
  const means = lines.some((line) => line.mean)
  const bands = lines.some((line) => line.band)
  const heads = [
    bands ? 'group' : 'job_id',
    'step',
    ...(timed ? ['seconds'] : []),
    ...(bands ? ['mean', 'std', 'min', 'max', 'n'] : ['value']),
    ...(means ? ['smoothed'] : []),
  ]
  const rows = lines.flatMap((line) =>
    line.steps.map((step, i) => [
      line.name,
      line.epochs?.[i] ?? step,
      ...(timed ? [step] : []),
      line.values[i],
      ...(bands ? [line.band?.std[i], line.band?.min[i], line.band?.max[i], line.band?.n[i]] : []),
      ...(means ? [line.mean?.values[i]] : []),
    ]),
  )
  saveCsvFile(name, [heads, ...rows])
}
