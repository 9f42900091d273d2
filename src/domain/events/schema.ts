import { z } from 'zod'
import { STEP_RANGE } from '../step.ts'

/**
 * The nine event types (specification §2.1, §2.2; contract §1) as one discriminated union. The same definition
 * validates requests and generates schemas/event_v1.json, so lengths are patterns: a pattern with the `u` flag
 * counts code points, as JSON Schema and Python do, where `.max()` would count UTF-16 units.
 */
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f'
const idText = z
  .string()
  .regex(
    new RegExp(`^[^${CONTROL}]{1,128}(?![\\s\\S])`, 'u'),
    'must be 1 to 128 characters without control characters',
  )
/** `.` and `..` would be steps of a path in every address of the batch. */
const batchIdText = z
  .string()
  .regex(
    new RegExp(`^(?!\\.{1,2}(?![\\s\\S]))[^${CONTROL}]{1,128}(?![\\s\\S])`, 'u'),
    'must be 1 to 128 characters without control characters, and not "." or ".."',
  )
const projectText = z
  .string()
  .regex(
    new RegExp(`^(?!\\s)[^/${CONTROL}]{1,128}(?<!\\s)(?![\\s\\S])`, 'u'),
    'must be 1 to 128 characters without "/" or control characters, not beginning or ending in white space',
  )
const levelText = z.string().regex(/^[\s\S]{1,32}(?![\s\S])/u, 'must be 1 to 32 characters')

const INT32_MAX = 2 ** 31 - 1
const count = z.int().min(0).max(INT32_MAX)
const epochNumber = z.int({ error: STEP_RANGE })
/** A JSON number, or one of the three words for what JSON cannot write (contract §1 "Numbers"). */
const numeric = z.union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity'])], {
  error: 'must be a number, "NaN", "Infinity" or "-Infinity"',
})

export const UUID = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\s\S])/
export const INSTANT =
  /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z(?![\s\S])/
/** The pattern allows 30 February, so the calendar is checked too. PostgreSQL has no year 0. */
export const isRealInstant = (text: string): boolean => {
  if (text.slice(8, 10) <= '28' && !text.startsWith('0000')) return true
  const days = new Date(
    Date.UTC(2000 + (Number(text.slice(0, 4)) % 400), Number(text.slice(5, 7)), 0),
  ).getUTCDate()
  return Number(text.slice(8, 10)) <= days && !text.startsWith('0000')
}

const source = z.looseObject({
  project: projectText,
  host: z.string().optional(),
  user: z.string().optional(),
  commit: z.string().optional(),
  command: z.string().optional(),
})

const envelope = {
  event_id: z.string().regex(UUID, 'must be a UUID').meta({ format: 'uuid' }),
  schema_version: z.literal('1.1'),
  timestamp: z
    .string()
    .regex(INSTANT, 'must be a UTC instant such as 2026-01-31T23:59:59Z')
    .refine(isRealInstant, 'is not a day of the calendar'),
  batch_id: batchIdText,
  source,
}
const ofBatch = { job_id: z.null({ error: 'must be null for an event of the batch' }).optional() }
const ofJob = { job_id: idText }
const ofEither = { job_id: idText.nullable().optional() }

const gpu = z.looseObject({
  index: z.int().optional(),
  uuid: z.string().optional(),
  name: z.string().optional(),
  util_pct: numeric.optional(),
  mem_mb: numeric.optional(),
  mem_total_mb: numeric.optional(),
  temp_c: numeric.optional(),
  power_w: numeric.optional(),
})

const batchStart = z.looseObject({
  ...envelope,
  ...ofBatch,
  event_type: z.literal('batch_start'),
  data: z
    .looseObject({
      experiment_type: z.string(),
      n_total: count.optional(),
      n_total_jobs: count.optional(),
      command: z.string().optional(),
    })
    .refine((data) => data.n_total !== undefined || data.n_total_jobs !== undefined, {
      path: ['n_total'],
      error: 'is required (or its alias n_total_jobs)',
    })
    .meta({ anyOf: [{ required: ['n_total'] }, { required: ['n_total_jobs'] }] }),
})
const batchDone = z.looseObject({
  ...envelope,
  ...ofBatch,
  event_type: z.literal('batch_done'),
  data: z.looseObject({ n_done: count, n_failed: count, total_elapsed_s: numeric }),
})
const batchFailed = z.looseObject({
  ...envelope,
  ...ofBatch,
  event_type: z.literal('batch_failed'),
  data: z.looseObject({ reason: z.string(), total_elapsed_s: numeric }),
})
const jobStart = z.looseObject({
  ...envelope,
  ...ofJob,
  event_type: z.literal('job_start'),
  data: z.looseObject({ model: z.string().optional(), dataset: z.string().optional() }),
})
const jobEpoch = z.looseObject({
  ...envelope,
  ...ofJob,
  event_type: z.literal('job_epoch'),
  data: z.looseObject({
    epoch: epochNumber,
    train_loss: numeric.optional(),
    val_loss: numeric.optional(),
    lr: numeric.optional(),
    batch_time_ms: numeric.optional(),
  }),
})
const jobDone = z.looseObject({
  ...envelope,
  ...ofJob,
  event_type: z.literal('job_done'),
  data: z.looseObject({
    metrics: z.looseObject({}).optional(),
    elapsed_s: numeric.optional(),
    train_epochs: numeric.optional(),
  }),
})
const jobFailed = z.looseObject({
  ...envelope,
  ...ofJob,
  event_type: z.literal('job_failed'),
  data: z.looseObject({ reason: z.string(), elapsed_s: numeric }),
})
const resourceSnapshot = z.looseObject({
  ...envelope,
  ...ofEither,
  event_type: z.literal('resource_snapshot'),
  data: z.looseObject({
    gpu_util_pct: numeric.optional(),
    gpu_mem_mb: numeric.optional(),
    cpu_util_pct: numeric.optional(),
    cpu_pct: numeric.optional(),
    ram_mb: numeric.optional(),
    rss_mb: numeric.optional(),
    disk_free_mb: numeric.optional(),
    gpus: z.array(gpu).optional(),
  }),
})
const logLine = z.looseObject({
  ...envelope,
  ...ofJob,
  event_type: z.literal('log_line'),
  data: z.looseObject({ line: z.string(), level: levelText }),
})

export const eventSchema = z.discriminatedUnion('event_type', [
  batchStart,
  batchDone,
  batchFailed,
  jobStart,
  jobEpoch,
  jobDone,
  jobFailed,
  resourceSnapshot,
  logLine,
])

export type Event = z.infer<typeof eventSchema>
export type EventType = Event['event_type']
export type Numeric = z.infer<typeof numeric>

/** The document of schemas/event_v1.json: JSON Schema draft-07 (specification §9). */
export function eventJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(eventSchema, { target: 'draft-7', io: 'input', reused: 'inline' })
  return {
    $schema: schema.$schema,
    $id: 'event_v1.json',
    title: 'Event envelope, schema 1.1',
    description: 'One telemetry event. Fields that are not named here are accepted and stored.',
    anyOf: schema.anyOf ?? schema.oneOf,
  }
}
