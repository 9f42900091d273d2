import type { Line } from '../lib/charts/line.ts'

function save(name: string, blob: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name.replace(/[^\w.-]+/g, '_')
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

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
  whole.toBlob((blob) => blob && save(`${name}.png`, blob))
}

export const saveDrawing = (name: string, svg: string): void =>
  save(`${name}.svg`, new Blob([svg], { type: 'image/svg+xml' }))

const cell = (text: string): string => {
  const guarded = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

/** The points that are drawn, with what stands beside them: times, means, the spread of a group. */
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
    line.steps.map((step, i) =>
      [
        cell(line.name),
        line.epochs?.[i] ?? step,
        ...(timed ? [step] : []),
        line.values[i],
        ...(bands ? [line.band?.std[i], line.band?.min[i], line.band?.max[i], line.band?.n[i]] : []),
        ...(means ? [line.mean?.values[i]] : []),
      ].join(),
    ),
  )
  save(`${name}.csv`, new Blob([[heads.join(), ...rows, ''].join('\r\n')], { type: 'text/csv' }))
}
