import { z } from 'zod'
import {
  type Fields,
  flag,
  float,
  instant,
  int,
  json,
  jsonOf,
  nullable,
  own,
  person,
  shapeOf,
  text,
  uuid,
  type ViewOf,
  word,
} from '../field.ts'
import { chartNumber } from '../metrics/index.ts'
import { type Definition, METHODS, SWEEP_STATES, TRIAL_STATES } from './sweep.ts'

/** Sweeps in the API, their trials, and the commands of their workers (docs/sweeps.md). */

const space = jsonOf<Definition['parameters']>(z.record(z.string(), z.any()))

/** A space that the sweep had before. */
const editFields = {
  from_number: { type: int, means: 'The first trial of the next space', public: 'shown' },
  parameters: { type: space, means: 'The space until then', public: 'shown' },
  at: { type: instant, public: 'shown' },
  by: { type: nullable(person), public: 'hidden' },
} as const satisfies Fields

/** How a worker was started. */
const workerFields = {
  id: { type: uuid, public: 'hidden' },
  host: { type: text, public: 'hidden' },
  command: { type: text, means: '`[redacted]` for everyone but the owner', public: 'hidden' },
  cwd: { type: text, public: 'hidden' },
  redacted: {
    type: flag,
    means: 'Secrets were removed from it, so that it cannot be run again',
    public: 'hidden',
  },
  recorded_at: { type: instant, public: 'hidden' },
  online: { type: flag, means: 'Whether an agent of the owner is online on the host', public: 'hidden' },
} as const satisfies Fields

const best = z.object({
  number: z.int(),
  job_id: z.string(),
  value: chartNumber.shape,
  params: json.shape,
})

export const sweepFields = {
  id: { type: text, public: 'shown' },
  batch_id: { type: text, public: 'shown' },
  project: { type: text, public: 'shown' },
  name: { type: text, public: 'shown' },
  method: { type: word(METHODS), public: 'shown' },
  metric: {
    type: own(z.object({ name: z.string(), goal: z.enum(['minimize', 'maximize']) })),
    public: 'shown',
  },
  parameters: { type: space, public: 'shown' },
  early_stopping: { type: nullable(json), public: 'shown' },
  command: { type: nullable(text), public: 'hidden' },
  max_trials: { type: nullable(int), means: 'As requested; null without a limit', public: 'shown' },
  n_total: {
    type: nullable(int),
    means: 'Total number of trials: the limit, or the combinations of a grid',
    public: 'shown',
  },
  state: { type: word(SWEEP_STATES), means: '`finished`: every trial has ended', public: 'shown' },
  created_at: { type: instant, public: 'shown' },
  created_by: { type: nullable(person), public: 'hidden' },
  trials: {
    type: jsonOf(z.record(z.enum(TRIAL_STATES), z.int())),
    means: 'Number of trials by state',
    public: 'shown',
  },
  best: {
    type: nullable(own(best)),
    means: 'The completed trial with the best value of the metric',
    public: 'shown',
  },
  edits: {
    type: own(z.array(shapeOf(editFields))),
    means: 'Spaces that the sweep had before, oldest first',
    public: 'shown',
  },
  eta_s: {
    type: nullable(float),
    means: 'Seconds until the last trial ends, from the mean length of trials and the current workers',
    public: 'shown',
  },
  commands: {
    type: own(z.array(shapeOf(workerFields))),
    means: 'How workers were started, newest first; for callers who may read the commands of the batch',
    public: 'hidden',
  },
  can: {
    type: own(z.object({ ask: z.boolean(), change: z.boolean(), start: z.boolean() })),
    public: 'shown',
  },
} as const satisfies Fields

export const trialFields = {
  number: { type: int, public: 'shown' },
  job_id: { type: text, public: 'shown' },
  state: {
    type: word(TRIAL_STATES),
    means: 'From its job; a lost trial is handed out again',
    public: 'shown',
  },
  params: { type: json, public: 'shown' },
  value: {
    type: nullable(chartNumber),
    means: 'The final metric, or the best value of its series without one',
    public: 'shown',
  },
  worker: { type: nullable(text), public: 'hidden' },
  last_seen_at: { type: nullable(instant), means: 'The last sign of life of its worker', public: 'shown' },
  handed_out: { type: int, means: 'Number of times that it was handed out', public: 'shown' },
  reserved_at: { type: instant, public: 'shown' },
  started_at: { type: nullable(instant), public: 'shown' },
  ended_at: { type: nullable(instant), public: 'shown' },
  failure_reason: { type: nullable(text), public: 'shown' },
  changed: {
    type: int,
    means: 'Increases with every change of the sweep; see `changed_after`',
    public: 'shown',
  },
  intermediate: {
    type: jsonOf(z.array(z.tuple([z.number(), chartNumber.shape]))),
    means: 'With `intermediate=true`: step and value of the metric, at most 1,000',
    public: 'shown',
    optional: true,
  },
} as const satisfies Fields

export type SweepView = ViewOf<typeof sweepFields>
export type TrialView = ViewOf<typeof trialFields>
export type Edit = ViewOf<typeof editFields>
export type WorkerView = ViewOf<typeof workerFields>
