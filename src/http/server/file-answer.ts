import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Answers a file to be saved under `name`, written while it is read. */
export function sendFile(
  reply: FastifyReply,
  type: string,
  name: string,
  chunks: AsyncGenerator<string | Buffer>,
): FastifyReply {
  // An id may hold anything: the plain name is for clients that know no other, the second one is exact (RFC 6266).
  const plain = name.replace(/[^\w.-]/g, '_')
  const exact = encodeURIComponent(name).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return reply
    .type(type)
    .header('content-disposition', `attachment; filename="${plain}"; filename*=UTF-8''${exact}`)
    .send(Readable.from(chunks, { objectMode: false }))
}
