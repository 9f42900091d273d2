import type { FastifyInstance } from 'fastify'

/** The OpenAPI 3.1 document, made from the schemas that validate the requests. */
export function openapiRoutes(app: FastifyInstance): void {
  app.get('/api/openapi.json', { schema: { hide: true } }, () => app.swagger())
}
