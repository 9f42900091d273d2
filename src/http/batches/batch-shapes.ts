import { z } from 'zod'
import { batchFields } from '../../domain/batches/index.ts'
import { shapeOf } from '../../domain/field.ts'
import { jobFields } from '../../domain/jobs/index.ts'

/** The Batch and the Job of the API (contract §4), as they are described; domain/{batches,jobs}/view.ts makes them. */
export const batchShape = shapeOf(batchFields)
export const jobShape = shapeOf(jobFields)

const fieldValue = z.object({
  low: z.unknown().describe('The least value over its jobs'),
  high: z.unknown(),
  n: z.int().describe('How many distinct values there are'),
})
export const listedBatch = batchShape.extend({
  columns: z
    .record(z.string(), fieldValue)
    .optional()
    .describe('The fields that `columns` asked for, by their names; what a batch lacks is absent'),
})

/**
 * For routes whose answers are made by typed views: the content comes from users (any key, any depth), so it is
 * sent without validation. A test checks real answers against the shapes.
 */
export const asMade = { serializerCompiler: () => (data: unknown) => JSON.stringify(data) }
