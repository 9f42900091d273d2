import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { artifactsOfBatch, batchArtifactFields } from '../../domain/artifacts/index.ts'
import { cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const relations = batchArtifactFields.relation.type.shape
const placesCursor = cursorOf('artifacts of a batch', z.tuple([relations, z.string(), z.int()]))

export function batchArtifactRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [batchArtifactsRoute])
}

function batchArtifactsRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/batches/:id/artifacts',
    {
      ...readersOnly,
      schema: {
        tags: ['artifacts'],
        summary: 'The artifact versions that a batch created or used',
        params: shapes.byId,
        querystring: z.strictObject({ ...pageQuery, relation: relations.optional() }),
        response: { 200: pageOf(shapeOf(batchArtifactFields)) },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { limit, cursor, relation } = request.query
      const filter = { relation, after: placesCursor.read(cursor), limit: limit + 1 }
      const found = await artifactsOfBatch(sql, batch.key, filter)
      const { rows, next_cursor } = pageFrom(found, limit, placesCursor, (row) => [
        row.relation,
        row.name,
        row.number,
      ])
      return { items: rows.map(({ number: _, ...version }) => version), next_cursor }
    },
  )
}
