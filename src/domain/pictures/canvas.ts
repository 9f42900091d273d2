/**
 * Fills polygons with smooth edges. Each edge adds the area that it covers to the pixels of its row, signed by its
 * direction; the sum along a row is how much of a pixel the polygon covers.
 */
export class Canvas {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each pixel. */
  readonly pixels: Uint8Array
  readonly #cover: Float32Array
  #top: number
  #bottom = 0

  constructor(width: number, height: number, background: string) {
    this.width = width
    this.height = height
    this.pixels = new Uint8Array(width * height * 3)
    const colour = rgbOf(background)
    for (let i = 0; i < this.pixels.length; i++) this.pixels[i] = colour[i % 3] ?? 0
    // One more for the edge at the right.
    this.#cover = new Float32Array((width + 1) * height + 1)
    this.#top = height
  }

  /** Adds an edge of the polygon that `fill` fills. */
  edge(x0: number, y0: number, x1: number, y1: number): void {
    if (y0 === y1) return
    const [sign, ax, ay, bx, by] = y0 < y1 ? [1, x0, y0, x1, y1] : [-1, x1, y1, x0, y0]
    const slope = (bx - ax) / (by - ay)
    const from = Math.max(0, ay)
    const to = Math.min(this.height, by)
    if (from >= to) return
    this.#top = Math.min(this.#top, Math.floor(from))
    this.#bottom = Math.max(this.#bottom, Math.ceil(to))
    for (let row = Math.floor(from); row < to; row++) {
      const y = Math.max(from, row)
      const next = Math.min(to, row + 1)
      this.#part(
        row,
        sign * (next - y),
        this.#inside(ax + (y - ay) * slope),
        this.#inside(ax + (next - ay) * slope),
      )
    }
  }

  #inside(x: number): number {
    return Math.min(this.width, Math.max(0, x))
  }

  /** The part of an edge in one row, from x to x: `height` of it is spread over the pixels between them. */
  #part(row: number, height: number, a: number, b: number): void {
    const [left, right] = a < b ? [a, b] : [b, a]
    const at = row * (this.width + 1)
    const first = Math.floor(left)
    const last = Math.floor(right)
    const cover = this.#cover
    const add = (x: number, value: number): void => {
      cover[at + x] = (cover[at + x] ?? 0) + value
    }
    if (first === last) {
      const middle = (left + right) / 2 - first
      add(first, height * (1 - middle))
      add(first + 1, height * middle)
      return
    }
    const perPixel = height / (right - left)
    for (let x = first; x <= last; x++) {
      const begin = Math.max(left, x)
      const end = Math.min(right, x + 1)
      const part = perPixel * (end - begin)
      const middle = (begin + end) / 2 - x
      add(x, part * (1 - middle))
      if (x < this.width) add(x + 1, part * middle)
    }
  }

  /** Fills what the edges since the last call enclose. */
  fill(colour: string): void {
    const [red, green, blue] = rgbOf(colour)
    for (let row = this.#top; row < this.#bottom; row++) {
      const at = row * (this.width + 1)
      let sum = 0
      for (let x = 0; x <= this.width; x++) {
        sum += this.#cover[at + x] ?? 0
        this.#cover[at + x] = 0
        const alpha = Math.min(1, Math.abs(sum))
        if (alpha < 0.004 || x === this.width) continue
        const pixel = (row * this.width + x) * 3
        this.#blend(pixel, red, alpha)
        this.#blend(pixel + 1, green, alpha)
        this.#blend(pixel + 2, blue, alpha)
      }
    }
    this.#top = this.height
    this.#bottom = 0
  }

  #blend(at: number, value: number, alpha: number): void {
    const before = this.pixels[at] ?? 0
    this.pixels[at] = Math.round(before + (value - before) * alpha)
  }
}

const rgbOf = (colour: string): [number, number, number] => {
  const value = Number.parseInt(colour.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}
