import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { requireSender } from '../../domain/files/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { drainRequest } from '../server/body.ts'
import { sendersOnly } from './files.ts'

const TUS = '1.0.0'
const BYTES_TYPE = 'application/offset+octet-stream'
const tags = ['files']

/**
 * Content on its way: the core protocol of tus 1.0.0 (https://tus.io/protocols/resumable-upload). Uploads are created by
 * declaring files or artifacts, so only HEAD and PATCH are needed.
 */
export function uploadRoutes(app: FastifyInstance, services: Services): void {
  // The bytes go to the store as they arrive.
  app.addContentTypeParser(BYTES_TYPE, (_request: FastifyRequest, body: IncomingMessage, done) =>
    done(null, body),
  )
  addRoutes(app, services, [capabilitiesRoute, uploadStateRoute, appendRoute])
}

function capabilitiesRoute(routes: Routes, { config }: Services): void {
  routes.options(
    '/api/uploads/:id',
    {
      schema: {
        tags,
        summary: 'What of tus the service speaks: its version, its extensions and the largest file',
        security: [],
        params: z.object({ id: z.string() }),
        querystring: shapes.nothing,
        response: { 204: shapes.noContent },
      },
    },
    async (_request, reply) =>
      reply
        .code(204)
        .headers({
          'tus-resumable': TUS,
          'tus-version': TUS,
          'tus-extension': 'expiration',
          'tus-max-size': config.files.maxBytes,
        })
        .send(null),
  )
}

/** Names the version in every answer, refusals too. */
function speakTus(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('tus-resumable', TUS).header('cache-control', 'no-store')
  if (request.headers['tus-resumable'] === TUS) return
  throw new Problem('unsupported_tus_version', { headers: { 'tus-version': TUS } })
}

function uploadStateRoute(routes: Routes, { files }: Services): void {
  routes.head(
    '/api/uploads/:id',
    {
      ...sendersOnly,
      schema: {
        tags,
        summary: 'How much of an upload has arrived, in `Upload-Offset`; with the token that declared it',
        params: shapes.byId,
        querystring: shapes.nothing,
        response: { 200: shapes.noContent },
      },
    },
    async (request, reply) => {
      speakTus(request, reply)
      const upload = await files.find(requireSender(await request.caller()), request.params.id)
      reply.header('upload-length', upload.size).header('upload-offset', upload.received)
      if (upload.expires !== null) reply.header('upload-expires', upload.expires.toUTCString())
      return reply.send(null)
    },
  )
}

function appendRoute(routes: Routes, { files }: Services): void {
  routes.patch<{ Params: { id: string }; Body: unknown }>(
    '/api/uploads/:id',
    {
      ...sendersOnly,
      schema: {
        tags,
        summary: 'Send bytes of an upload, from its offset on; with the token that declared it',
        description: `The body is ${BYTES_TYPE}. After the last byte the SHA-256 is checked.`,
        params: shapes.byId,
        querystring: shapes.nothing,
        consumes: [BYTES_TYPE],
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      try {
        speakTus(request, reply)
        if (request.headers['content-type'] !== BYTES_TYPE) throw new Problem('unsupported_media_type')
        const offset = offsetOf(request)
        const caller = requireSender(await request.caller())
        const { received, expires } = await files.append(caller, request.params.id, offset, request.raw)
        if (expires !== null) reply.header('upload-expires', expires.toUTCString())
        return reply.header('upload-offset', received).code(204).send(null)
      } catch (error) {
        drainRequest(request, reply)
        throw error
      }
    },
  )
}

/** @throws Problem bad_request */
function offsetOf({ headers }: FastifyRequest): number {
  const text = headers['upload-offset']
  if (typeof text === 'string' && /^\d{1,15}$/.test(text)) return Number(text)
  throw new Problem('bad_request', { detail: 'Upload-Offset must be a whole number' })
}
