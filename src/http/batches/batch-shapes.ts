import { z } from 'zod'
import type { BatchView } from '../../domain/batches/index.ts'
import type { JobView } from '../../domain/jobs/index.ts'
import { instant } from '../request/shapes.ts'

/** The Batch and the Job of the API (contract §4), as they are described; domain/{batches,jobs}/view.ts makes them. */
export const BATCH_STATES = ['running', 'completed', 'failed', 'stopped', 'lost'] as const
export const JOB_STATES = ['running', 'completed', 'failed', 'stopped', 'lost'] as const

const seconds = z.union([z.number(), z.string()]).describe('Seconds; "NaN" or "Infinity" where so reported')
const text = z.string().nullable()
const fields = z.record(z.string(), z.unknown())

export const batchShape = z.object({
  id: z.string(),
  name: text.describe('For display; null: it is known by its id'),
  project: z.string(),
  status: z.enum(BATCH_STATES),
  stalled: z.boolean().describe('Running, but silent for longer than the threshold'),
  stop_requested: z.boolean(),
  owner: z.object({ id: z.string(), name: z.string() }).nullable().describe('Null in an anonymous share'),
  host: text,
  host_id: text.describe('The agent on that host'),
  user: text,
  commit: text,
  command: text,
  experiment_type: text,
  tags: z.array(z.string()),
  notes: z.string().describe('Markdown'),
  group: text,
  config: fields.nullable().describe('What the run was given, as its reporter sent it'),
  summary: fields.nullable().describe('What the run itself set, such as the best accuracy'),
  starred: z.boolean(),
  archived: z.boolean(),
  n_total: z.int().nullable(),
  n_done: z.int(),
  n_failed: z.int(),
  n_running: z.int(),
  slots: z.object({ total: z.int().nullable(), started: z.int(), finished: z.int() }),
  started_at: instant,
  ended_at: instant.nullable(),
  last_seen_at: instant,
  last_received_at: instant
    .nullable()
    .describe("When the last of its events was received, by the service's clock"),
  clock_skew_s: z
    .number()
    .nullable()
    .describe("Seconds that its host's clock is behind the service's; null where its sender does not say"),
  elapsed_s: seconds,
  eta_s: z.number().nullable().describe('Null while it is stalled, and once it is over'),
  progress: z.number().nullable().describe('How much is done, 0 to 1; null where nothing is planned'),
  failure_reason: text,
  traceback: text.describe('Of the failure that ended it'),
  env_snapshot: z.looseObject({ commit: text, command: text, cwd: text, hostname: text }).nullable(),
  rerun_of: text,
  deleted_at: instant.optional(),
  can: z
    .object({
      stop: z.boolean(),
      rerun: z.boolean(),
      delete: z.boolean(),
      share: z.boolean(),
      edit: z.boolean(),
    })
    .describe('What the caller may do to it now'),
}) satisfies z.ZodType<BatchView>

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

export const jobShape = z.object({
  batch_id: z.string(),
  id: z.string(),
  key: z.string(),
  status: z.enum(JOB_STATES),
  model: text,
  dataset: text,
  params: fields.describe('The further fields of job_start'),
  started_at: instant,
  ended_at: instant.nullable(),
  elapsed_s: seconds,
  epochs: z.int().describe('Distinct epochs'),
  latest: z
    .object({ epoch: z.int().nullable() })
    .catchall(z.union([z.number(), z.string(), z.null()]))
    .describe('The highest epoch, and the last value of each series'),
  metrics: fields.describe('The final metrics of job_done'),
  failure_reason: text,
  traceback: text.describe('Of the failure that ended it'),
  step_unit: text.describe('What one step of its series counts, such as `tokens`; null: epochs'),
  pruned: z.boolean().describe('Ended early because another job did better'),
  idle: z.boolean().describe('Running, but its GPU has been idle for the threshold'),
  eta_s: z.number().nullable(),
}) satisfies z.ZodType<JobView>

/**
 * For routes whose answers are made by typed views: what they hold comes from users (any key, any depth), so it is
 * written as it is. A test holds real answers against the shapes.
 */
export const asMade = { serializerCompiler: () => (data: unknown) => JSON.stringify(data) }
