import { constants } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, RouteOptions } from 'fastify'

/** Smaller answers fit into one or two packets anyway. */
export const MIN_BYTES = 4_096
/** Larger answers are compressed outside of the thread that answers requests. */
const MAX_AT_ONCE_BYTES = 16_384
const PIECE_BYTES = 65_536

/**
 * Compresses answers of the routes that are registered after it: lists, series, GraphQL. At the lowest levels JSON of
 * jobs shrinks to a fifth and JSON of series to two fifths, for 4 to 12 ms of CPU a MB. Not compressed are answers to
 * unsafe requests, which are short and may contain a secret beside input of the caller, and routes with `compress:
 * false`, such as streamed files. Event streams do not go through the hooks.
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

/** GraphQL also reads with POST. */
const isRead = ({ method, url }: RouteOptions): boolean =>
  [method].flat().includes('GET') || url === '/graphql'
