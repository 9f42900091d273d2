import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { listAudit } from '../domain/audit.ts'
import type { Services } from '../services.ts'
import { administratorOnly } from './credentials.ts'
import { filterText } from './filters.ts'
import { cursorOf, pageFrom, pageOf, pageQuery } from './page.ts'
import * as shapes from './shapes.ts'

const entryShape = z.object({
  id: z.int(),
  at: shapes.instant,
  actor: z.object({ id: z.string(), name: z.string() }).nullable(),
  via: z.string().describe('The kind of credential'),
  action: z.string().describe('Noun and verb, such as `batch.deleted`'),
  subject: z.string().describe('What it was done to, such as `batch:<id>`'),
  detail: z.record(z.string(), z.unknown()),
})

/** Who did what (contract §2), for administrators. */
export function auditRoutes(app: FastifyInstance, { sql }: Services): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/api/admin/audit',
    {
      ...administratorOnly,
      schema: {
        tags: ['administration'],
        summary: 'The audit log, newest first',
        querystring: z.strictObject({
          ...pageQuery,
          subject: filterText.optional().describe('Entries about this only, such as `batch:<id>`'),
        }),
        response: { 200: pageOf(entryShape) },
      },
    },
    async (request) => {
      const { limit, cursor: text, subject } = request.query
      const cursor = cursorOf(`audit ${subject ?? ''}`, z.int().min(0))
      const { user } = await request.administrator()
      const found = await listAudit(
        sql,
        { userId: user.id },
        { limit: limit + 1, after: cursor.read(text), subject },
      )
      const { rows, next_cursor } = pageFrom(found, limit, cursor, (entry) => entry.id)
      return { items: [...rows], next_cursor }
    },
  )
}
