import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { jsonSchemaTransform } from 'fastify-type-provider-zod'
import { PROBLEMS } from '../../problem.ts'
import { EVERYWHERE } from '../server/refusals.ts'
import { apiDocument } from './api-document.ts'
import type { ApiDocument } from './openapi-parts.ts'

/** Has the OpenAPI document made of the routes that are registered after it. */
export async function describeRoutes(app: FastifyInstance, basePath: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      ...(basePath !== '' && { servers: [{ url: basePath }] }),
      info: {
        title: 'Experiment monitor',
        version: '1',
        description: OVERVIEW,
      },
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'A reporter token, a read token, an agent token, or the JWT of a session.',
          },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: 'svc_session',
            description: 'The cookie of a sign-in. A signed-in browser sends it by itself.',
          },
        },
      },
      security: [{ bearer: [] }, { session: [] }],
    },
    transform: jsonSchemaTransform,
  })
}

/** The API as an OpenAPI document, generated once, and in Swagger UI (contract "General rules"). */
export function openapiRoutes(app: FastifyInstance): void {
  let document: ApiDocument | undefined
  const hidden = { schema: { hide: true } }

  app.get('/api/openapi.json', hidden, () => {
    document ??= apiDocument(app)
    return document
  })
  app.get('/api/docs', hidden, (_request, reply) => reply.sendPage('api-docs.html'))
}

const everywhere = EVERYWHERE.map((code) => `\`${code}\` (${PROBLEMS[code][0]})`).join(', ')
/** What holds for every route, as CommonMark. */
const OVERVIEW = `Training events in; batches, jobs, series and control out.

Bodies are JSON in UTF-8, times are ISO 8601 in UTC. Send \`Authorization: Bearer …\` with a reporter token, a read token or
the JWT of a session; pages of this address may use the cookie of the session.

A list answers \`{"items": […], "next_cursor": …}\`; send \`next_cursor\` back as \`cursor\` until it is null. Unknown query
parameters are refused.

An error is \`application/problem+json\` (RFC 9457) with a stable \`code\`. Any route may answer ${everywhere}; the others are
listed with their route.`
