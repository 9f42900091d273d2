/** How many pixels an image says it has; undefined where its first bytes do not say it. Nothing is decoded. */
export function pixelsOf(type: string, head: Buffer): number | undefined {
  try {
    return SIZES[type]?.(head)
  } catch (error) {
    // Beyond the bytes at hand.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const SIZES: Record<string, (head: Buffer) => number | undefined> = {
  'image/png': (b) =>
    b.toString('latin1', 12, 16) === 'IHDR' ? b.readUInt32BE(16) * b.readUInt32BE(20) : undefined,
  'image/gif': (b) => b.readUInt16LE(6) * b.readUInt16LE(8),
  'image/jpeg': jpegPixels,
  'image/webp': webpPixels,
  'image/avif': avifPixels,
}

function jpegPixels(b: Buffer): number | undefined {
  for (let at = 2; ; ) {
    if (b.readUInt8(at) !== 0xff) return undefined
    const marker = b.readUInt8(at + 1)
    if (marker === 0xff) {
      at++
      continue
    }
    // Markers without content.
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += 2
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return b.readUInt16BE(at + 5) * b.readUInt16BE(at + 7)
    if (marker === 0xd9 || marker === 0xda) return undefined
    at += 2 + b.readUInt16BE(at + 2)
  }
}

function webpPixels(b: Buffer): number | undefined {
  const form = b.toString('latin1', 12, 16)
  if (form === 'VP8X') return (1 + b.readUIntLE(24, 3)) * (1 + b.readUIntLE(27, 3))
  if (form === 'VP8 ') return (b.readUInt16LE(26) & 0x3fff) * (b.readUInt16LE(28) & 0x3fff)
  if (form !== 'VP8L') return undefined
  const bits = b.readUInt32LE(21)
  return ((bits & 0x3fff) + 1) * (((bits >> 14) & 0x3fff) + 1)
}

/** The largest of the sizes that the boxes `ispe` give. */
function avifPixels(b: Buffer): number | undefined {
  let most: number | undefined
  for (let at = b.indexOf('ispe', 0, 'latin1'); at !== -1; at = b.indexOf('ispe', at + 4, 'latin1'))
    most = Math.max(most ?? 0, b.readUInt32BE(at + 8) * b.readUInt32BE(at + 12))
  return most
}
