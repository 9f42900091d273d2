import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { createBoundedQueue } from '../../bounded-queue.ts'
import { Problem } from '../../problem.ts'
import { messageOf } from '../../thrown.ts'
import { MAX_PIXELS } from './content-type.ts'
import type { Content } from './reads.ts'

/** The widths of thumbnails, in pixels. */
export const WIDTHS = ['160', '320', '640'] as const
export type Width = (typeof WIDTHS)[number]

/**
 * Small copies of large images for galleries, in WebP. They are made by `sharp`, an optional package, in a thread of its own,
 * one at a time, in turns of the projects. The bytes come from users, so only its readers of PNG, JPEG and WebP are used.
 */
export interface Thumbnails {
  /** @returns undefined if the image itself should be sent: it is small, no image of these types, or cannot be made smaller */
  of(content: Content, width: Width, open: () => Promise<Readable>): Promise<Buffer | undefined>
}

const TYPES: ReadonlySet<string | null> = new Set(['image/png', 'image/jpeg', 'image/webp'])
/** Smaller images are sent whole. */
const MIN_BYTES = 64 * 1024
/** Larger ones too, because they are read into memory. */
const MAX_BYTES = 32 * 1024 * 1024
const TIMEOUT_S = 5
/** How many of a project, and of all, may wait; images beyond are sent whole. */
const WAITING = { waiting: 200, together: 1_000, code: 'overloaded' } as const
/** How many images without a copy are remembered. */
const REFUSED = 10_000

type Sharp = import('sharp').SharpConstructor
/**
 * @param options.keptBytes how many bytes of copies stay in memory
 * @param options.load for the test without the package
 */
export function createThumbnails(options: {
  log: Logger
  keptBytes: number
  load?: () => Promise<Sharp>
}): Thumbnails {
  const { log, load = loadSharp } = options
  const queue = createBoundedQueue<string>({ atOnce: 1, lanes: {}, otherLanes: WAITING })
  const made = new LRUCache<string, Buffer>({
    maxSize: options.keptBytes,
    sizeCalculation: ({ length }) => Math.max(1, length),
  })
  const refused = new LRUCache<string, true>({ max: REFUSED })
  let loading: Promise<Sharp | undefined> | undefined
  const loaded = (): Promise<Sharp | undefined> => {
    loading ??= load().catch((error: unknown) => {
      log.info({ why: messageOf(error) }, 'galleries show whole images, because the package sharp is missing')
      return undefined
    })
    return loading
  }

  async function make(sharp: Sharp, width: Width, bytes: Readable): Promise<Buffer> {
    const parts: Buffer[] = []
    for await (const part of bytes) parts.push(part as Buffer)
    const image = sharp(Buffer.concat(parts), { limitInputPixels: MAX_PIXELS }).timeout({
      seconds: TIMEOUT_S,
    })
    const small = image.autoOrient().resize({ width: Number(width), withoutEnlargement: true })
    return small.webp({ quality: 85 }).toBuffer()
  }

  return {
    async of(content, width, open) {
      const { sha256, size, mediaType } = content
      if (!TYPES.has(mediaType) || size < MIN_BYTES || size > MAX_BYTES) return undefined
      const key = `${sha256} ${width}`
      const before = made.get(key)
      if (before !== undefined || refused.has(key)) return before
      const sharp = await loaded()
      if (sharp === undefined) return undefined
      try {
        // The projects take turns, so that one with many large images does not keep the others waiting.
        const [project = ''] = content.object.split('/')
        return await queue.run(project, async () => {
          if (refused.has(key)) return undefined
          const small = made.get(key) ?? (await make(sharp, width, await open()))
          if (small.length < size) made.set(key, small)
          else refused.set(key, true)
          return small.length < size ? small : undefined
        })
      } catch (error) {
        // Too many wait or the store is away: then the answer with the image itself says so. Or the image is damaged.
        if (!(error instanceof Problem)) refused.set(key, true)
        log.debug({ sha256, why: messageOf(error) }, 'no thumbnail of an image')
        return undefined
      }
    },
  }
}

async function loadSharp(): Promise<Sharp> {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp'] })
  return sharp
}
