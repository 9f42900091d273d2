import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { partsFor } from './visitors.ts'

/** `Content-Disposition` of a download. */
export function attachmentHeader(name: string): string {
  // An id may have any characters: the plain name is for old clients, the encoded one is exact (RFC 6266).
  const plain = name.replace(/[^\w.-]/g, '_')
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`
}

/** Streams a file for download under `name`. */
export function sendFile(
  reply: FastifyReply,
  type: string,
  name: string,
  chunks: AsyncGenerator<string | Buffer>,
): FastifyReply {
  return reply
    .type(type)
    .header('content-disposition', attachmentHeader(name))
    .send(Readable.from(partsFor(reply, chunks), { objectMode: false }))
}
