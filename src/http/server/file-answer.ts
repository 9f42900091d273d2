import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { partsFor } from './visitors.ts'

/** Streams a file for download under `name`. */
export function sendFile(
  reply: FastifyReply,
  type: string,
  name: string,
  chunks: AsyncGenerator<string | Buffer>,
): FastifyReply {
  // An id may have any characters: the plain name is for old clients, the encoded one is exact (RFC 6266).
  const plain = name.replace(/[^\w.-]/g, '_')
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return reply
    .type(type)
    .header('content-disposition', `attachment; filename="${plain}"; filename*=UTF-8''${exact}`)
    .send(Readable.from(partsFor(reply, chunks), { objectMode: false }))
}
