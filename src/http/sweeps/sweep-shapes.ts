import { z } from 'zod'
import { shapeOf } from '../../domain/field.ts'
import { isStorable } from '../../domain/storable-text.ts'
import {
  DISTRIBUTIONS,
  EARLY_STOPPING,
  type Given,
  LEASE_S,
  MAX_STARTED,
  MAX_TRIALS,
  METHODS,
  sweepFields,
  TRIAL_STATES,
  trialFields,
} from '../../domain/sweeps/index.ts'
import { hostname } from '../hosts/agent-shapes.ts'
import * as shapes from '../request/shapes.ts'

/** Shapes of the routes of sweeps (docs/sweeps.md). */
/** Any JSON; a body is parsed before. */
const anything = z.unknown()
const params = z.record(z.string(), anything)
const storable = (most: number) =>
  z
    .string()
    .min(1)
    .max(most, `must be at most ${most} characters`)
    .refine(isStorable, 'must be without NUL characters and lone surrogates')
/** JSON that PostgreSQL can store: without NUL characters and lone surrogates in its texts. */
const storableJson = (value: unknown): boolean => {
  const text = JSON.stringify(value)
  return !/\\u(0000|d[89a-f][0-9a-f]{2})/i.test(text)
}

const when = z
  .record(z.string(), anything)
  .optional()
  .describe(
    'The parameter is part of a trial only if these parameters have this value, or one of a list of values',
  )
const range = z.strictObject({
  min: z.number(),
  max: z.number(),
  distribution: z
    .enum(DISTRIBUTIONS)
    .optional()
    .describe('Default: uniform, over integers if min, max and q are integers'),
  q: z.number().gt(0).optional().describe('Only values min + k·q'),
  when,
})
const parameter = z.union(
  [
    z.strictObject({ values: z.array(anything).min(1).max(10_000), when }),
    z.strictObject({ value: anything, when }).refine((given) => Object.hasOwn(given, 'value')),
    range,
  ],
  { error: 'must be {values}, {value} or {min, max, distribution?, q?}' },
)
/** Groups of parameters, as W&B nests them, a few levels deep. */
const nested = (levels: number): z.ZodType<Given> =>
  levels === 0
    ? (parameter as z.ZodType<Given>)
    : z.union(
        [
          z.strictObject({ parameters: z.record(z.string(), nested(levels - 1)), when }),
          parameter as z.ZodType<Given>,
        ],
        { error: 'must be {values}, {value}, {min, max, distribution?, q?} or {parameters}' },
      )
const MAX_LEVELS = 4
const space = z
  .record(z.string(), nested(MAX_LEVELS))
  .describe('By name; a group `{optimizer: {parameters: {lr: …}}}` is the parameter `optimizer.lr`')
  .refine(storableJson, 'must be without NUL characters and lone surrogates')
const maxTrials = z.int().min(1).max(MAX_TRIALS)
const metric = z.strictObject({ name: shapes.label, goal: z.enum(['minimize', 'maximize']) })
const option = z.union([z.number(), z.boolean(), z.string().max(128).refine(isStorable)])
const earlyStopping = z
  .object({ type: z.enum(EARLY_STOPPING) })
  .catchall(option)
  .describe(
    'Workers end trials early that do worse than others: `min_steps`, `startup_trials`, `interval`, `percentile` (of type percentile), `min_iter`, `max_iter`, `eta` (of type hyperband)',
  )

export const newSweep = z.strictObject({
  name: shapes.label,
  method: z.enum(METHODS),
  metric,
  parameters: space,
  max_trials: maxTrials.nullish(),
  early_stopping: earlyStopping.nullish(),
  command: storable(16_384)
    .nullish()
    .describe('The command of the workers, for display; the service never runs it'),
})

export const preview = z.strictObject({
  method: z.enum(METHODS),
  parameters: space,
  max_trials: maxTrials.nullish(),
})

export const previewShape = z.object({
  n_total: z.int().nullable().describe('Trials of the sweep; null without a limit'),
  combinations: z.number().nullable().describe('Null for continuous parameters'),
  trials: z.array(params).describe('The first trials of a grid; for other methods, random examples'),
})

const askId = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')

export const ask = z
  .strictObject({
    worker: storable(256).describe('Name of the worker, such as host:pid'),
    params: params
      .refine(storableJson, 'must be without NUL characters and lone surrogates')
      .nullish()
      .describe('Parameters that the worker proposes; needed unless the method is grid or random'),
    reports_start: z
      .boolean()
      .optional()
      .describe(
        'The worker sends job_start itself, with more fields than the parameters. Default: the service sends it',
      ),
    ask_id: askId
      .optional()
      .describe('Idempotency key: a repeated request with the same ask_id returns the same trial'),
    lease_s: z
      .int()
      .min(LEASE_S.min)
      .max(LEASE_S.max)
      .optional()
      .describe(
        'The trial is lost unless the worker renews it or reports its job within this time. Default: SVC_LOST_AFTER_MIN',
      ),
  })
  .refine((body) => body.lease_s === undefined || body.ask_id !== undefined, {
    error: 'must be given with lease_s',
    path: ['ask_id'],
  })

export const lease = z.strictObject({
  ask_id: askId.describe('The ask_id of the request that reserved the trial'),
  release: z
    .boolean()
    .default(false)
    .describe('The worker returns the trial, or died: another worker gets it at once'),
  evicted: z
    .boolean()
    .default(false)
    .describe('With `release`: the worker was evicted, which does not count as a loss'),
})

export const leased = z.object({ state: z.enum(TRIAL_STATES) })

export const reserved = z.object({ number: z.int(), job_id: z.string(), params })

export const change = z
  .strictObject({
    state: z.enum(['running', 'paused', 'stopped']).optional(),
    max_trials: maxTrials.nullish().describe('null: no limit'),
    parameters: space.optional().describe('A new search space, for trials from now on'),
  })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    'must change state, max_trials or parameters',
  )

export const queue = z.union(
  [
    z.strictObject({ failed: z.literal(true) }),
    z.strictObject({
      trial: z.int().min(0),
      seeds: z.array(z.int()).min(1).max(100),
      seed_name: shapes.label.default('seed').describe('The name of the seed parameter'),
    }),
  ],
  { error: 'must be {failed: true} or {trial, seeds, seed_name?}' },
)

export const queued = z.object({ numbers: z.array(z.int()).describe('The queued trials') })

export const workerCommand = z.strictObject({
  host: hostname,
  command: storable(65_536),
  cwd: storable(4_096),
  command_redacted: z.boolean().default(false).describe('Whether secrets were removed from the command'),
})

export const start = z.strictObject({
  command_id: z.string().describe('One of the `commands` of the sweep'),
  workers: z.int().min(1).max(MAX_STARTED).default(1),
  confirm: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 in hexadecimal')
    .optional()
    .describe(
      'SHA-256 of the UTF-8 command that the user confirmed: 409 `command_changed` if another would run',
    ),
})

export const started = z.object({
  cmd_ids: z.array(z.string()).describe('Commands to the agent, as of reruns'),
  host_id: z.string(),
  state: z.literal('pending'),
})

export const sweepShape = shapeOf(sweepFields)
export const trialShape = shapeOf(trialFields)
