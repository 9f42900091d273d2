import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { itemAt } from '../../checked.ts'
import type { BatchRow, BatchView } from '../../domain/batches/index.ts'
import { positionOf } from '../../domain/keyset-pages.ts'
import {
  BATCH_PARAMETERS,
  type BatchFilter,
  findBatches,
  namesOfColumn,
  readQueries,
} from '../../domain/lists/index.ts'
import { presentBatches, presentColumns } from '../../domain/present.ts'
import { clockOf, type Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import {
  batchSort,
  columnsQuery,
  direction,
  listCursor,
  listParameters,
  unknownNames,
} from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { asMade, listedBatch } from './batch-shapes.ts'

const ETA = 'eta'

/** The list of batches with its filters, orders and columns (contract §4). */
export function batchListRoutes(app: FastifyInstance, services: Services): void {
  const { sql } = services
  const routes = app.withTypeProvider<ZodTypeProvider>()

  routes.get(
    '/api/batches',
    {
      ...readersOnly,
      ...asMade,
      schema: {
        tags: ['batches'],
        summary: 'Batches, newest first',
        description:
          'Filters ignore case, except `project` and `id`. A batch must match one value of each filter. With `sort`, numbers come before texts, then NaN, then batches without the field, in both directions; among equals the newest first.',
        querystring: z.strictObject({
          ...pageQuery,
          ...listParameters(BATCH_PARAMETERS),
          deleted: z
            .enum(['true', 'false'])
            .default('false')
            .describe('Deleted batches that you may restore, archived or not, instead of the others'),
          sort: batchSort,
          order: direction,
          columns: columnsQuery,
        }),
        response: { 200: pageOf(listedBatch).extend({ unknown_names: unknownNames }) },
      },
    },
    async (request) => {
      const { limit, cursor: text, deleted, sort, order, columns, where, ...asked } = request.query
      const filter: BatchFilter = {
        ...asked,
        deleted: deleted === 'true',
        where: readQueries('batch', where),
      }
      const caller = filter.deleted ? await request.known() : await request.caller()
      const by = { by: sort, descending: order === 'desc' }
      const cursor = listCursor('batches', [filter, by])
      const page = { limit: limit + 1, after: cursor.read(text) }
      const names = columns.filter((name) => name !== ETA).flatMap(namesOfColumn)
      const found = await findBatches(sql, caller, filter, page, by, names)
      const { rows, next_cursor } = pageFrom(found.rows, limit, cursor, positionOf)
      const items = await presentBatches(sql, caller, rows, clockOf(services))
      const isNamed = where.length > 0 || names.length > 0 || typeof sort !== 'string'
      return {
        items: await withColumns(services, items, rows, columns),
        next_cursor,
        ...(isNamed && { unknown_names: [...found.unknown] }),
      }
    },
  )
}

/** Adds the requested columns. They are computed, so other answers do not have them. */
async function withColumns(
  services: Services,
  items: BatchView[],
  rows: readonly BatchRow[],
  columns: readonly string[],
) {
  if (columns.length === 0) return items
  const values = await presentColumns(services.sql, rows, columns, clockOf(services))
  return items.map((item, i) => ({ ...item, columns: values.get(itemAt(rows, i).key) ?? {} }))
}
