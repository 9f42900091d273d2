import { pixelsOf } from './pixels.ts'

/**
 * The types that are shown in place, recognised by the first bytes of the content and never by a name (contract §11
 * "Files"). What carries scripts, such as HTML and SVG, is not among them.
 */
const SIGNS: readonly [type: string, is: (bytes: Buffer) => boolean][] = [
  ['image/png', (b) => startsWith(b, 0, '\x89PNG\r\n\x1a\n')],
  ['image/jpeg', (b) => startsWith(b, 0, '\xff\xd8\xff')],
  ['image/webp', (b) => startsWith(b, 0, 'RIFF') && startsWith(b, 8, 'WEBP')],
  ['image/gif', (b) => startsWith(b, 0, 'GIF87a') || startsWith(b, 0, 'GIF89a')],
  ['image/avif', (b) => /^avi[fs]$/.test(brandOf(b))],
  ['audio/mpeg', (b) => startsWith(b, 0, 'ID3') || isMp3Frame(b)],
  ['audio/wav', (b) => startsWith(b, 0, 'RIFF') && startsWith(b, 8, 'WAVE')],
  ['audio/ogg', (b) => startsWith(b, 0, 'OggS\0')],
  ['audio/flac', (b) => startsWith(b, 0, 'fLaC')],
  ['video/mp4', (b) => /^(isom|iso\d|mp4\d|avc1|dash|M4[AV] |MSNV|f4v )$/.test(brandOf(b))],
  [
    'video/webm',
    (b) => startsWith(b, 0, '\x1aE\xdf\xa3') && b.subarray(0, 64).includes('\x42\x82\x84webm', 'latin1'),
  ],
]

export const INLINE_TYPES: ReadonlySet<string> = new Set(SIGNS.map(([type]) => type))

/** How much of the content `inlineTypeOf` reads: a JPEG may have a long preview before its size. */
export const HEAD_BYTES = 256 * 1024

/** An image of 100 megapixels takes 400 MB in a browser. */
export const MAX_PIXELS = 100_000_000

/**
 * @param head the first bytes of the content
 * @param size its length
 * @returns its type, if browsers may show it; null for every other one, and for images that are too large in pixels, or
 *   that hide their size far behind their beginning
 */
export function inlineTypeOf(head: Buffer, size: number): string | null {
  const type = SIGNS.find(([, is]) => is(head))?.[0]
  if (type === undefined) return null
  if (!type.startsWith('image/')) return type
  const pixels = pixelsOf(type, head)
  if (pixels === undefined) return size <= HEAD_BYTES ? type : null
  return pixels <= MAX_PIXELS ? type : null
}

/** The type that is shown for a file: what its content is, or what its sender said if that promises no content that is shown. */
export function shownType(byContent: string | null, declared: string | null): string {
  if (byContent !== null) return byContent
  if (declared === null || INLINE_TYPES.has(declared.toLowerCase())) return 'application/octet-stream'
  return declared.toLowerCase()
}

const startsWith = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.length >= at + text.length && bytes.toString('latin1', at, at + text.length) === text

const brandOf = (bytes: Buffer): string =>
  startsWith(bytes, 4, 'ftyp') ? bytes.toString('latin1', 8, 12) : ''

/** A frame of MPEG layer III, with a bit rate and a sampling rate that exist. */
function isMp3Frame(bytes: Buffer): boolean {
  const [sync = 0, layer = 0, rates = 0] = bytes
  return (
    sync === 0xff &&
    (layer & 0xe0) === 0xe0 &&
    (layer & 0x18) !== 0x08 &&
    (layer & 0x06) === 0x02 &&
    (rates & 0xf0) !== 0xf0 &&
    (rates & 0xf0) !== 0 &&
    (rates & 0x0c) !== 0x0c
  )
}
