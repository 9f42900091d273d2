import { z } from 'zod'
import { BATCH_STATES } from '../batches/index.ts'
import {
  type Fields,
  flag,
  float,
  id,
  instant,
  int,
  json,
  jsonOf,
  nullable,
  number,
  own,
  type StoredOf,
  text,
  texts,
  type ViewOf,
} from '../field.ts'
import { elapsedValue, progressValue } from '../progress-value.ts'

export const JOB_STATES = BATCH_STATES

/** Why a job is lost (contract §10 "Lost"); the reason of its batch is there. */
const LOSS_REASON = 'the batch ended or was lost before the job reported its end'

/** End and failure reason for the API: a row has only what its job reported. */
export const endedAtOf = (row: {
  status: string
  ended_at: string | null
  last_seen_at: string
}): string | null => (row.status === 'lost' ? row.last_seen_at : row.ended_at)
export const failureReasonOf = (row: { status: string; failure_reason: string | null }): string | null =>
  row.status === 'lost' ? LOSS_REASON : row.failure_reason

/** The text that can be a unit of a job's steps; any other value under that name is a parameter. */
const isUnit = (value: unknown): boolean =>
  typeof value === 'string' && /^[^\p{Cc}]{1,64}$/u.test(value) && value.trim() !== ''
/** No machine has more GPUs; a greater number is a parameter of that name. */
const isCount = (value: unknown): boolean => z.int().min(0).max(65_535).safeParse(value).success
const isAnything = (): boolean => true
const isFlag = (value: unknown): boolean => typeof value === 'boolean'

/** The fields of a job (contract §4); "How to add a field of a job" in docs/architecture.md says what else one needs. */
export const jobFields = {
  batch_id: {
    type: id,
    part: 'batch',
    public: 'shown',
    value: (db, row) => db`(select fb.id from batches fb where fb.key = ${row}.batch_key)`,
    whole: true,
    filter: { name: 'batch', means: 'Id of a batch', graphql: null },
  },
  id: { type: id, column: 'id', graphql: 'jobId', public: 'shown' },
  key: { type: id, means: 'Of the job across batches, as in /api/jobs/{key}', public: 'shown' },
  status: {
    type: own(z.enum(JOB_STATES), 'text'),
    column: 'status',
    public: 'shown',
    filter: { means: 'Status' },
  },
  model: {
    type: nullable(text),
    column: 'model',
    sent: { by: 'job_start', accepts: isAnything },
    public: 'scrubbed',
    filter: { means: 'Model' },
  },
  dataset: {
    type: nullable(text),
    column: 'dataset',
    sent: { by: 'job_start', accepts: isAnything },
    public: 'scrubbed',
    filter: { means: 'Dataset' },
  },
  params: {
    type: json,
    means: 'The other fields of `job_start`',
    column: 'params',
    part: 'params',
    public: 'scrubbed',
  },
  started_at: { type: instant, column: 'started_at', public: 'shown' },
  ended_at: {
    type: nullable(instant),
    means: 'Its end; of a lost job the last sign of life',
    column: 'ended_at',
    part: 'elapsed',
    public: 'shown',
    value: (db, row) => db`case when ${row}.status = 'lost' then (
      select fp.last_seen_at from job_progress fp where fp.job_key = ${row}.key) else ${row}.ended_at end`,
  },
  elapsed_s: {
    type: number,
    means: 'Seconds; "NaN" or "Infinity" if its reporter sent that',
    part: 'elapsed',
    public: 'shown',
    value: elapsedValue('job', (db, row) => db`${row}.reported_s`),
  },
  epochs: {
    type: int,
    means: 'Distinct epochs',
    part: 'progress',
    public: 'shown',
    value: progressValue('job', (db) => db`fp.epochs::float8`),
  },
  latest: {
    type: jsonOf(
      z.object({ epoch: z.int().nullable() }).catchall(z.union([z.number(), z.string(), z.null()])),
    ),
    means: 'The highest epoch and the last value of each series',
    part: 'progress',
    public: 'scrubbed',
  },
  best: {
    type: jsonOf(z.record(z.string(), z.union([z.number(), z.string(), z.null()]))),
    means:
      'The best value of each series over all steps: its minimum if less is better, judging by its name (losses, errors, times), else its maximum',
    part: 'best',
    public: 'scrubbed',
  },
  metrics: {
    type: json,
    means: 'The final metrics of `job_done`',
    column: 'metrics',
    part: 'metrics',
    graphql: 'finalMetrics',
    public: 'scrubbed',
  },
  failure_reason: {
    type: nullable(text),
    column: 'failure_reason',
    public: 'scrubbed',
    // Not a parameter: grouping compares the text of expressions.
    value: (db, row) =>
      db`case when ${row}.status = 'lost' then ${db.unsafe(`'${LOSS_REASON}'`)} else ${row}.failure_reason end`,
  },
  traceback: {
    type: nullable(text),
    means: 'Traceback of the failure that ended it',
    column: 'traceback',
    part: 'traceback',
    public: 'empty',
  },
  step_unit: {
    type: nullable(text),
    means: 'The unit of its steps, such as `tokens`; null means epochs',
    column: 'step_unit',
    sent: { by: 'job_start', accepts: isUnit },
    public: 'scrubbed',
  },
  gpu_count: {
    type: nullable(int),
    means: 'Number of GPUs visible to its process at the start; null if not reported',
    column: 'gpu_count',
    sent: { by: 'job_start', accepts: isCount },
    public: 'shown',
  },
  pruned: {
    type: flag,
    means: 'Ended early because other jobs performed better',
    column: 'pruned',
    sent: { by: 'job_done', accepts: isFlag, otherwise: false },
    public: 'shown',
  },
  tags: {
    type: texts,
    means: 'Set by users',
    column: 'tags',
    public: 'scrubbed',
    filter: { name: 'tag', means: 'Tag' },
  },
  notes: {
    type: text,
    means: 'Markdown, written by users',
    column: 'notes',
    part: 'notes',
    public: 'empty',
  },
  idle: {
    type: flag,
    means: 'Running with a GPU that has been idle for the threshold',
    part: 'idle',
    public: 'shown',
  },
  eta_s: { type: nullable(float), public: 'shown' },
} as const satisfies Fields

/** A job in the API. Numbers that JSON cannot write are "NaN", "Infinity", "-Infinity". */
export type JobView = ViewOf<typeof jobFields>
/** The columns of `jobs` that are fields. */
export type JobColumns = StoredOf<typeof jobFields>
