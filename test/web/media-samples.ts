import { createHash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

/** Content of each kind of media, made small. */
export interface Sample {
  bytes: Buffer
  sha256: string
  media_type: string
}

export const sample = (bytes: Buffer | string, media_type: string): Sample => {
  const content = Buffer.from(bytes)
  return { bytes: content, sha256: createHash('sha256').update(content).digest('hex'), media_type }
}

/** A picture of red, green and blue, or of grey values. */
export function png(
  width: number,
  height: number,
  pixel: (x: number, y: number) => number | readonly [number, number, number],
): Sample {
  const grey = typeof pixel(0, 0) === 'number'
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (_, x) => pixel(x, y)).flat(),
  ])
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    check.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, check])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, grey ? 0 : 2, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const bytes = Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ])
  return sample(bytes, 'image/png')
}

/** A picture that differs by its seed: rings around a point. */
export const rings = (seed: number, size = 64): Sample =>
  png(size, size, (x, y) => {
    const at = Math.hypot(x - ((seed * 13) % size), y - ((seed * 29) % size))
    const wave = Math.round(127 + 127 * Math.sin(at / 3 + seed))
    return [wave, (seed * 40) % 256, 255 - wave]
  })

/** A mask with the classes 0, 1 and 2. */
export const mask = (size = 64): Sample =>
  png(size, size, (x, y) => (Math.hypot(x - 20, y - 24) < 12 ? 1 : Math.hypot(x - 46, y - 40) < 10 ? 2 : 0))

/** A second of a sine. */
export function wav(hertz: number, seconds = 1): Sample {
  const rate = 8_000
  const bytes = Buffer.alloc(44 + 2 * rate * seconds)
  bytes.write('RIFF', 0)
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.write('WAVEfmt ', 8)
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(rate, 24)
  bytes.writeUInt32LE(2 * rate, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write('data', 36)
  bytes.writeUInt32LE(bytes.length - 44, 40)
  for (let i = 0; i < rate * seconds; i++)
    bytes.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * hertz * i) / rate)), 44 + 2 * i)
  return sample(bytes, 'audio/wav')
}

export const table = (rows: number): Sample =>
  sample(
    JSON.stringify({
      columns: ['id', 'label', 'score', '<b>html</b>'],
      data: Array.from({ length: rows }, (_, i) => [
        i,
        ['cat', 'dog', 'horse'][i % 3],
        ((i * 7919) % 1000) / 1000,
        '<img src=x onerror="document.title=1">',
      ]),
    }),
    'application/json',
  )

export const json = (value: unknown): Sample => sample(JSON.stringify(value), 'application/json')

/** The media value of a sample. */
export const mediaValue = (type: string, { sha256, bytes, media_type }: Sample, more: object = {}) => ({
  _type: type,
  sha256,
  size: bytes.length,
  media_type,
  ...more,
})

/** Counts that a normal distribution around `mean` has in 48 bins from -4 to 4. */
export function histogram(mean: number, spread: number) {
  const bins = Array.from({ length: 49 }, (_, i) => -4 + i / 6)
  const counts = bins.slice(1).map((to, i) => {
    const at = ((bins[i] ?? 0) + to) / 2
    return Math.round(1000 * Math.exp(-((at - mean) ** 2) / (2 * spread ** 2)))
  })
  return { _type: 'histogram', bins, counts }
}
