import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import { Canvas } from './canvas.ts'
import type { Scene, Shape } from './scene.ts'
import { EM, letterOf, textWidth } from './text-width.ts'

const compress = promisify(deflate)
/** Pixels of the picture for one of the scene, for sharp text on dense screens. */
const SCALE = 2

/** The picture as PNG. */
export async function pngOf({ width, height, background, shapes }: Scene): Promise<Buffer> {
  const canvas = new Canvas(width * SCALE, height * SCALE, background)
  for (const shape of shapes) draw(canvas, shape)
  return encode(canvas)
}

function draw(canvas: Canvas, shape: Shape): void {
  if (shape.kind === 'rect') {
    const { x, y, width, height, fill } = shape
    outline(
      canvas,
      [x, y, x + width, y, x + width, y + height, x, y + height].map((value) => value * SCALE),
    )
    canvas.fill(fill)
  } else if (shape.kind === 'line') {
    drawLine(canvas, shape)
  } else {
    drawText(canvas, shape)
  }
}

function outline(canvas: Canvas, points: ArrayLike<number>): void {
  const n = points.length
  for (let i = 0; i < n; i += 2) {
    const j = (i + 2) % n
    canvas.edge(points[i] ?? 0, points[i + 1] ?? 0, points[j] ?? 0, points[j + 1] ?? 0)
  }
}

/** Each segment is a rectangle that reaches half a width beyond its ends, which joins it with the next. */
function drawLine(canvas: Canvas, { xs, ys, stroke, width }: Extract<Shape, { kind: 'line' }>): void {
  const half = (width * SCALE) / 2
  let [beforeX, beforeY] = [Number.NaN, Number.NaN]
  for (let i = 0; i < xs.length; i++) {
    const [x, y] = [(xs[i] ?? Number.NaN) * SCALE, (ys[i] ?? Number.NaN) * SCALE]
    const isPoint = Number.isFinite(x) && Number.isFinite(y)
    if (isPoint) {
      const isFirst = Number.isNaN(beforeX)
      const [fromX, fromY] = isFirst ? [x, y] : [beforeX, beforeY]
      const length = Math.hypot(x - fromX, y - fromY)
      const [dx, dy] =
        length === 0 ? [half, 0] : [((x - fromX) / length) * half, ((y - fromY) / length) * half]
      outline(canvas, [
        fromX - dx - dy,
        fromY - dy + dx,
        fromX - dx + dy,
        fromY - dy - dx,
        x + dx + dy,
        y + dy - dx,
        x + dx - dy,
        y + dy + dx,
      ])
    }
    ;[beforeX, beforeY] = isPoint ? [x, y] : [Number.NaN, Number.NaN]
  }
  canvas.fill(stroke)
}

function drawText(
  canvas: Canvas,
  { text, size, fill, anchor = 'start', ...at }: Extract<Shape, { kind: 'text' }>,
): void {
  const width = textWidth(text, size)
  const scale = (size * SCALE) / EM
  const before = anchor === 'start' ? 0 : anchor === 'middle' ? width / 2 : width
  let x = (at.x - before) * SCALE
  const y = at.y * SCALE
  for (const character of text) {
    const { advance, contours } = letterOf(character)
    for (const contour of contours)
      outline(
        canvas,
        contour.map((value, i) => (i % 2 === 0 ? x + value * scale : y - value * scale)),
      )
    x += advance * scale
  }
  canvas.fill(fill)
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

async function encode({ width, height, pixels }: Canvas): Promise<Buffer> {
  const row = width * 3
  // Each row begins with its filter: none.
  const raw = Buffer.alloc((row + 1) * height)
  for (let y = 0; y < height; y++) raw.set(pixels.subarray(y * row, (y + 1) * row), y * (row + 1) + 1)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8)
  const data = await compress(raw, { level: 6 })
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  whole.set(body, 4)
  whole.writeUInt32BE(crc32(body), body.length + 4)
  return whole
}
