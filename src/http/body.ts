import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler parses the JSON itself: the body arrives as bytes. */
    rawJson?: boolean
  }
}

const unzip = promisify(gunzip)

/**
 * Bodies are JSON, plain or gzip, at most `maxBodyBytes` before and after decompression. An empty body is
 * undefined, so that an action without input needs none.
 */
export function acceptJson(app: FastifyInstance, maxBodyBytes: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: maxBodyBytes },
    async (request: FastifyRequest, wire: Buffer) => {
      const body = await decode(wire, request.headers['content-encoding'], maxBodyBytes)
      if (request.routeOptions.config.rawJson) return body
      if (body.length === 0) return undefined
      try {
        return JSON.parse(body.toString('utf8'))
      } catch {
        throw new Problem('invalid_json')
      }
    },
  )
}

async function decode(wire: Buffer, encoding: string | undefined, maxOutputLength: number): Promise<Buffer> {
  if (encoding === undefined || encoding === 'identity') return wire
  if (encoding.toLowerCase() !== 'gzip') {
    throw new Problem('unsupported_media_type', { detail: 'Content-Encoding may be gzip or absent' })
  }
  try {
    return await unzip(wire, { maxOutputLength })
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw new Problem('body_too_large')
    throw new Problem('invalid_body', { detail: 'The body is not valid gzip' })
  }
}
