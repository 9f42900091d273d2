import type { Line } from '../../lib/charts/line.ts'

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

const cell = (text: string): string => {
  const guarded = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

export function saveCsv(name: string, lines: readonly Line[]): void {
  const rows = lines.flatMap((line) =>
    line.steps.map((step, i) => `${cell(line.name)},${step},${line.values[i]}`),
  )
  save(`${name}.csv`, new Blob([['job_id,step,value', ...rows, ''].join('\r\n')], { type: 'text/csv' }))
}
