import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type AuditRecord, auditFields, exportAudit, listAudit } from '../../domain/audit.ts'
import { cursorOf } from '../../domain/cursors.ts'
import { csvRow } from '../../domain/export/index.ts'
import { shapeOf } from '../../domain/field.ts'
import { instantText } from '../../domain/instant-text.ts'
import type { Services } from '../../services.ts'
import { administratorOnly } from '../request/credentials.ts'
import { filterText } from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { sendFile } from '../server/file-answer.ts'

const entryShape = shapeOf(auditFields)

const filters = {
  subject: filterText.optional().describe('Only entries about this subject, such as `batch:<id>`'),
  action: filterText.optional().describe('An action such as `token.created`, or a prefix such as `token.`'),
  actor: filterText.optional().describe('The id or the e-mail address of an account'),
  address: filterText.optional().describe('Only requests from this IP address'),
  from: instantText.optional().describe('From this time, inclusive'),
  to: instantText.optional().describe('Before this time'),
}

const exportQuery = z.strictObject(filters)
const COLUMNS = ['id', 'at', 'actor_id', 'actor_name', 'via', 'address', 'action', 'subject', 'detail']
const tags = ['administration']
const asFile = { ...administratorOnly, compress: false } as const

/** The audit log (contract §2), for administrators: as a list, and as files that are streamed. */
export function auditRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listAuditRoute, auditCsvRoute, auditJsonLinesRoute])
}

function listAuditRoute(routes: Routes, { prisma }: Services): void {
  routes.get(
    '/api/admin/audit',
    {
      ...administratorOnly,
      schema: {
        tags,
        summary: 'The audit log, newest first',
        querystring: z.strictObject({ ...pageQuery, ...filters }),
        response: { 200: pageOf(entryShape) },
      },
    },
    async (request) => {
      const { limit, cursor: text, ...filter } = request.query
      const cursor = cursorOf(`audit ${JSON.stringify(filter)}`, z.int().min(0))
      const { user } = await request.administrator()
      const found = await listAudit(
        prisma,
        { userId: user.id },
        { limit: limit + 1, after: cursor.read(text), ...filter },
      )
      const { rows, next_cursor } = pageFrom(found, limit, cursor, (entry) => entry.id)
      return { items: [...rows], next_cursor }
    },
  )
}

function auditCsvRoute(routes: Routes, { prisma }: Services): void {
  routes.get(
    '/api/admin/audit.csv',
    {
      ...asFile,
      schema: { tags, summary: 'The audit log as CSV, newest first', querystring: exportQuery },
    },
    async (request, reply) => {
      const { user } = await request.administrator()
      const entries = exportAudit(prisma, { userId: user.id }, request.query)
      return sendFile(reply, 'text/csv; charset=utf-8', 'audit.csv', csvOf(entries))
    },
  )
}

function auditJsonLinesRoute(routes: Routes, { prisma }: Services): void {
  routes.get(
    '/api/admin/audit.jsonl',
    {
      ...asFile,
      schema: { tags, summary: 'The audit log as JSON lines, newest first', querystring: exportQuery },
    },
    async (request, reply) => {
      const { user } = await request.administrator()
      const entries = exportAudit(prisma, { userId: user.id }, request.query)
      return sendFile(reply, 'application/jsonl; charset=utf-8', 'audit.jsonl', linesOf(entries))
    },
  )
}

async function* csvOf(pages: AsyncGenerator<AuditRecord[]>): AsyncGenerator<string> {
  yield csvRow(COLUMNS)
  for await (const entries of pages) {
    yield entries
      .map(({ id, at, actor, via, address, action, subject, detail }) =>
        csvRow([id, at, actor?.id, actor?.name, via, address, action, subject, detail]),
      )
      .join('')
  }
}

async function* linesOf(pages: AsyncGenerator<AuditRecord[]>): AsyncGenerator<string> {
  for await (const entries of pages) yield entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
}
