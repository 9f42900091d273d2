import { z } from 'zod'
import { batchFields } from '../../domain/batches/index.ts'
import { shapeOf } from '../../domain/field.ts'
import { jobFields } from '../../domain/jobs/index.ts'

/** The shapes of a batch and a job in the API (contract §4); domain/{batches,jobs}/view.ts creates their values. */
export const batchShape = shapeOf(batchFields)
export const jobShape = shapeOf(jobFields)

const fieldValue = z.object({
  low: z.unknown().describe('The minimum over its jobs'),
  high: z.unknown(),
  n: z.int().describe('Number of distinct values'),
})
export const listedBatch = batchShape.extend({
  columns: z
    .record(z.string(), fieldValue)
    .optional()
    .describe('The requested `columns`, by name; fields that the batch does not have are absent'),
})

/**
 * For routes that answer with typed views: users choose the content (any key, any depth), so it is sent without
 * validation. A test compares real answers with the shapes.
 */
export const asMade = { serializerCompiler: () => (data: unknown) => JSON.stringify(data) }
