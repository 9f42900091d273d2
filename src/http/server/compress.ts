import { constants } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, RouteOptions } from 'fastify'

/** Less than this is one or two packets in any form. */
export const MIN_BYTES = 4_096
/** More than this is compressed beside the thread that answers requests. */
const MAX_AT_ONCE_BYTES = 16_384
const PIECE_BYTES = 65_536

/**
 * Compresses what the routes after it read: lists, series, GraphQL. At the cheapest levels: JSON of jobs becomes a fifth,
 * JSON of series two fifths, for 4 to 12 ms of CPU a MB. Left as they are: answers to what changes something, which are
 * short and may hold a secret beside what the caller sent; and the routes that say `compress: false`, files that are
 * written as long as they are read. Streams of events are written past the hooks.
 */
export async function compressAnswers(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (!isRead(route)) route.compress = false
  })
  await app.register(compress, {
    globalDecompression: false,
    encodings: ['br', 'gzip'],
    threshold: MIN_BYTES,
    syncThreshold: MAX_AT_ONCE_BYTES,
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 1 }, chunkSize: PIECE_BYTES },
    zlibOptions: { level: 1, chunkSize: PIECE_BYTES },
  })
}

/** GraphQL reads with POST as well. */
const isRead = ({ method, url }: RouteOptions): boolean =>
  [method].flat().includes('GET') || url === '/graphql'
