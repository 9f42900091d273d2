import type { Line } from '../lib/charts/line.ts'
import { saveCsvFile, saveFile } from '../lib/save-file.ts'

/** Saves the SVG as PNG, one pixel per unit. */
export async function savePicture(name: string, svg: string): Promise<void> {
  const image = new Image()
  // The content security policy allows images from data: URLs but not from blob: URLs.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  const canvas = document.createElement('canvas')
  canvas.width = image.naturalWidth
  canvas.height = image.naturalHeight
  canvas.getContext('2d')?.drawImage(image, 0, 0)
  canvas.toBlob((blob) => blob && saveFile(`${name}.png`, blob))
}

export const saveDrawing = (name: string, svg: string): void =>
  saveFile(`${name}.svg`, new Blob([svg], { type: 'image/svg+xml' }))

/** The drawn points as CSV, with x values, means, and the spread of groups. */
export function saveCsv(name: string, lines: readonly Line[], xHead = 'seconds'): void {
  const timed = lines.some((line) => line.epochs)
  const means = lines.some((line) => line.mean)
  const bands = lines.some((line) => line.band)
  const several = new Set(lines.map((line) => line.key)).size > 1
  const heads = [
    bands ? 'group' : 'job_id',
    ...(several ? ['series'] : []),
    'step',
    ...(timed ? [xHead] : []),
    ...(bands ? ['mean', 'std', 'min', 'max', 'n'] : ['value']),
    ...(means ? ['smoothed'] : []),
  ]
  const rows = lines.flatMap((line) =>
    line.steps.map((step, i) => [
      line.owner,
      ...(several ? [line.key] : []),
      line.epochs?.[i] ?? step,
      ...(timed ? [step] : []),
      line.values[i],
      ...(bands ? [line.band?.std[i], line.band?.min[i], line.band?.max[i], line.band?.n[i]] : []),
      ...(means ? [line.mean?.values[i]] : []),
    ]),
  )
  saveCsvFile(name, [heads, ...rows])
}
