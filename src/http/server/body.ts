import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EPOCHS_TYPE } from '../../ingest/index.ts'
import { Problem } from '../../problem.ts'
import { codeOf, messageOf } from '../../thrown.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler parses the JSON itself and gets the body as bytes. */
    rawJson?: boolean
    /** The route accepts events, which may be as long as the service allows. */
    takesEvents?: boolean
    /** The route also accepts epochs as columns. */
    takesEpochs?: boolean
  }
}

const unzip = promisify(gunzip)

/**
 * The longest body of a route that needs no credential, such as sign-in: eight MiB of JSON keep the process busy for a
 * second, and gzip sends them in a few KB.
 */
export const MAX_OPEN_BYTES = 64 * 1024
/** The longest body of the other routes but those of events: a report of 100,000 characters is 600 KB at most. */
export const MAX_OTHER_BYTES = 1024 * 1024

/** How much of a refused body is still read, in bytes and milliseconds. */
const MAX_LEFT_BYTES = 64 * 1024 * 1024
const MAX_LEFT_MS = 30_000

/**
 * Reads the rest of a body that was refused for its length. Most clients send all of it before they read the answer: if
 * the connection were closed at once, they would report a broken pipe instead of the 413.
 */
export function drainRequest({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete) return
  reply.removeHeader('connection')
  let left = MAX_LEFT_BYTES
  const late = setTimeout(() => raw.socket.destroy(), MAX_LEFT_MS).unref()
  raw.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) raw.socket.destroy()
  })
  raw.once('close', () => clearTimeout(late))
}

/**
 * Parses JSON bodies, plain or gzip, of at most `maxBodyBytes`, or the limit of the route, before and after
 * decompression. An empty body is undefined, so an action without input needs none.
 */
export function acceptJson(app: FastifyInstance, maxBodyBytes: number): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.takesEvents === true) return
    const most = route.schema?.security?.length === 0 ? MAX_OPEN_BYTES : MAX_OTHER_BYTES
    route.bodyLimit ??= Math.min(most, maxBodyBytes)
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', EPOCHS_TYPE],
    { parseAs: 'buffer', bodyLimit: maxBodyBytes },
    (request: FastifyRequest, wire: Buffer, done: Parsed) => {
      if (isEpochs(request) && request.routeOptions.config.takesEpochs !== true) {
        done(new Problem('unsupported_media_type'))
        return
      }
      const encoding = request.headers['content-encoding']
      // A callback: nearly every event is sent uncompressed, and a promise would cost more than this
      // function.
      if (encoding === undefined || encoding === 'identity') parse(request, wire, done)
      else
        decode(wire, encoding, request.routeOptions.bodyLimit).then(
          (body) => parse(request, body, done),
          done,
        )
    },
  )
}

/** Whether the body is epochs as columns. */
export const isEpochs = ({ headers }: FastifyRequest): boolean =>
  headers['content-type']?.toLowerCase().startsWith(EPOCHS_TYPE) === true

type Parsed = (error: Error | null, body?: unknown) => void

function parse(request: FastifyRequest, body: Buffer, done: Parsed): void {
  let value: unknown = body
  if (request.routeOptions.config.rawJson !== true) {
    try {
      value = body.length === 0 ? undefined : JSON.parse(body.toString('utf8'))
    } catch (error) {
      done(new Problem('invalid_json', { detail: messageOf(error) }))
      return
    }
  }
  done(null, value)
}

async function decode(wire: Buffer, encoding: string, maxOutputLength: number): Promise<Buffer> {
  if (encoding.toLowerCase() !== 'gzip') {
    throw new Problem('unsupported_media_type', { detail: 'Content-Encoding must be gzip, or absent' })
  }
  try {
    return await unzip(wire, { maxOutputLength })
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw new Problem('body_too_large')
    throw new Problem('invalid_body', { detail: 'The body is not valid gzip' })
  }
}
