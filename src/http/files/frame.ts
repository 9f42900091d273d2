import type { FastifyRequest } from 'fastify'
import type { Content } from '../../domain/files/index.ts'

/**
 * The policy of HTML and SVG that a run made: an origin of its own without scripts, forms and pop-ups, and nothing is
 * loaded. Styles and images are those in the document.
 */
export const FRAME_POLICY = [
  'sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ')

/** Larger documents make the page slow. */
const MAX_FRAME_BYTES = 10 * 1024 * 1024

/**
 * How content is shown in a frame of the page, with `?frame=true`; undefined if it is not. Browsers that say what they
 * load something for get it for frames only: as a page of its own it could pass for one of the service.
 */
export function frameTypeOf(
  { query, headers }: Pick<FastifyRequest, 'query' | 'headers'>,
  { size, mediaType }: Pick<Content, 'size' | 'mediaType'>,
  name: string,
): string | undefined {
  const { frame, download } = query as { frame?: string; download?: string }
  const destination = headers['sec-fetch-dest'] ?? 'iframe'
  if (frame !== 'true' || download === 'true' || mediaType !== null) return undefined
  if (destination !== 'iframe' || size > MAX_FRAME_BYTES) return undefined
  if (/\.svg$/i.test(name)) return 'image/svg+xml'
  return /\.html?$/i.test(name) ? 'text/html; charset=utf-8' : undefined
}
