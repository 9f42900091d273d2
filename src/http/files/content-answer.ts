import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Content, readContent, type Width } from '../../domain/files/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { attachmentHeader } from '../server/file-answer.ts'
import { partsFor } from '../server/visitors.ts'
import { type ByteRange, rangeOf } from './byte-range.ts'
import { FRAME_POLICY, frameTypeOf } from './frame.ts'

/**
 * Sends content, or the range of it that was asked for (contract §11 "Files"). Its type is the one of its bytes: what is
 * not an image, sound or video that browsers may show is an attachment in a sandbox, or HTML or SVG in a frame of the page
 * (`frame.ts`).
 * @param name what a download is called
 * @param width of a smaller copy of an image, which is sent if there is one
 * @throws Problem storage_unavailable, range_not_satisfiable
 */
export async function sendContent(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { files, thumbnails }: Pick<Services, 'files' | 'thumbnails'>,
  content: Content,
  { name, download, width }: { name: string; download: boolean; width?: Width | undefined },
): Promise<FastifyReply> {
  const { sha256, size, mediaType } = content
  if (width !== undefined && !download) {
    reply.header('etag', `"${sha256}-${width}"`).header('cache-control', 'private, no-cache')
    // Only who was sent the copy knows its tag: it need not be made again.
    if (isListed(request.headers['if-none-match'], `"${sha256}-${width}"`)) return reply.code(304).send()
    const small = await thumbnails.of(content, width, () => openedContent(files, content))
    if (small !== undefined) return reply.type('image/webp').send(small)
  }
  const frameType = frameTypeOf(request, content, name)
  const etag = `"${sha256}"`
  reply.header('etag', etag).header('cache-control', 'private, no-cache').header('accept-ranges', 'bytes')
  if (isListed(request.headers['if-none-match'], etag)) return reply.code(304).send()
  const range = rangeOf(request.headers, etag, size)
  if ((mediaType === null && frameType === undefined) || download)
    reply.header('content-disposition', attachmentHeader(name))
  if (mediaType === null)
    reply.header('content-security-policy', frameType === undefined ? 'sandbox' : FRAME_POLICY)
  reply.type(mediaType ?? frameType ?? 'application/octet-stream')
  const { from, to } = range ?? { from: 0, to: size - 1 }
  if (range !== undefined) reply.code(206).header('content-range', `bytes ${from}-${to}/${size}`)
  reply.header('content-length', to - from + 1)
  if (request.method === 'HEAD' || size === 0) return reply.send(Readable.from([]))
  const bytes = await openedContent(files, content, range)
  return reply.send(Readable.from(partsFor(reply, streamParts(bytes)), { objectMode: false }))
}

/** @throws Problem storage_unavailable */
export async function openedContent(
  files: Services['files'],
  content: Pick<Content, 'object'>,
  range?: ByteRange,
): Promise<Readable> {
  const bytes = await files
    .open()
    .then((store) => readContent(store, content, range))
    .catch((cause) => {
      throw new Problem('storage_unavailable', { cause })
    })
  if (bytes !== undefined) return bytes
  throw new Problem('storage_unavailable', { cause: new Error(`${content.object} is missing in the store`) })
}

export async function* streamParts(bytes: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) yield chunk as Buffer
}

/** Whether `If-None-Match` names the entity. */
const isListed = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag)
