import type { FastifyInstance } from 'fastify'
import { apiDocument } from './api-document.ts'
import { docsPage } from './docs-page.ts'
import { DOCS_STYLE } from './docs-style.ts'
import type { ApiDocument } from './openapi-parts.ts'

/** The API as an OpenAPI document and as a page (contract "General rules"). Both are generated once. */
export function openapiRoutes(app: FastifyInstance): void {
  let document: ApiDocument | undefined
  let page: string | undefined
  const made = (): ApiDocument => {
    document ??= apiDocument(app)
    return document
  }
  const hidden = { schema: { hide: true } }

  app.get('/api/openapi.json', hidden, () => made())
  app.get('/api/docs', hidden, (_request, reply) => {
    page ??= docsPage(made())
    return reply.type('text/html; charset=utf-8').send(page)
  })
  // A file of its own, because the content security policy (security-headers.ts) allows no inline styles.
  app.get('/api/docs.css', hidden, (_request, reply) =>
    reply.type('text/css; charset=utf-8').header('cache-control', 'max-age=300').send(DOCS_STYLE),
  )
}
