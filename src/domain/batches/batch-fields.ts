import type { Fragment } from 'postgres'
import { z } from 'zod'
import type { Db } from '../../db/sql.ts'
import { STATES } from '../../query/index.ts'
import type { BatchCan } from '../access.ts'
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
  person,
  type StoredOf,
  text,
  texts,
  type ViewOf,
} from '../field.ts'
import { elapsedValue, progressValue } from '../progress-value.ts'
import type { BatchStatus } from './batch.ts'

export const BATCH_STATES = STATES satisfies readonly BatchStatus[]

/** The environment that the batch was started in: these four fields, and others that its sender gave. */
const environment = z.looseObject({
  commit: z.string().nullable(),
  command: z.string().nullable(),
  cwd: z.string().nullable(),
  hostname: z.string().nullable(),
})
export type Environment = z.output<typeof environment>

const can = z.object({
  stop: z.boolean(),
  rerun: z.boolean(),
  delete: z.boolean(),
  share: z.boolean(),
  edit: z.boolean(),
}) satisfies z.ZodType<BatchCan>

/** A number that the reporter said at its end; 0 without it. */
const reported = (db: Db, row: Fragment, name: string): Fragment =>
  db`coalesce((${row}.reported ->> ${name}::text)::float8, 0)`

/** The fields of a batch (contract §4); "How to add a field" in docs/architecture.md says what else one needs. */
export const batchFields = {
  id: {
    type: id,
    means: 'The `batch_id`',
    column: 'id',
    public: 'shown',
    filter: { means: 'Id of a batch, exactly' },
  },
  name: {
    type: nullable(text),
    means: 'For display; null: use the id',
    column: 'name',
    public: 'scrubbed',
  },
  project: {
    type: text,
    means: "The project's slug",
    graphql: 'projectSlug',
    public: 'shown',
    value: (db, row) => db`(select fq.slug from projects fq where fq.key = ${row}.project_key)`,
    whole: true,
    filter: { means: 'Slug of a project' },
  },
  status: {
    type: own(z.enum(BATCH_STATES), 'text'),
    column: 'status',
    public: 'shown',
    filter: { means: 'Status' },
  },
  stalled: { type: flag, means: 'Running, without events for longer than the threshold', public: 'shown' },
  stop_requested: {
    type: flag,
    public: 'shown',
    value: (db, row) => db`(${row}.stop_requested_at is not null)`,
  },
  owner: {
    type: nullable(person),
    means: 'Null in an anonymous share',
    public: 'empty',
    value: (db, row) => db`(select fu.name from users fu where fu.id = ${row}.owner_id)`,
    whole: true,
    filter: { means: 'Id of the owner, or an exact email address that you may see' },
  },
  host: {
    type: nullable(text),
    column: 'host',
    public: 'empty',
    whole: true,
    filter: { means: 'Host of the batch' },
  },
  host_id: { type: nullable(id), means: 'The agent on that host', public: 'empty' },
  user: { type: nullable(text), column: 'username', public: 'empty', whole: true },
  commit: { type: nullable(text), column: 'commit_sha', public: 'shown' },
  command: { type: nullable(text), column: 'command', public: 'scrubbed' },
  experiment_type: { type: nullable(text), column: 'experiment_type', public: 'scrubbed' },
  tags: { type: texts, column: 'tags', public: 'scrubbed', filter: { name: 'tag', means: 'Tag' } },
  // Configuration, summary and notes may contain names of people, hosts and folders.
  notes: { type: text, means: 'Markdown', column: 'notes', public: 'empty' },
  group: {
    type: nullable(text),
    column: 'group_name',
    public: 'scrubbed',
    whole: true,
    filter: { means: 'Group' },
  },
  config: {
    type: nullable(json),
    means: 'Settings of the run, as its reporter sent them; they may change while it runs',
    column: 'config',
    public: 'empty',
  },
  summary: {
    type: nullable(json),
    means: 'Values that the run set, such as the best accuracy',
    column: 'summary',
    public: 'scrubbed',
  },
  starred: {
    type: flag,
    column: 'starred',
    public: 'shown',
    filter: { means: 'Starred or not. Default: all' },
  },
  archived: {
    type: flag,
    means: 'Hidden from lists unless they ask for archived batches',
    column: 'archived',
    public: 'shown',
    filter: {
      means: 'Archived or not; give both values for all. Default: not archived, unless `id` is given',
    },
  },
  n_total: { type: nullable(int), column: 'n_total', public: 'shown' },
  n_done: {
    type: int,
    public: 'shown',
    value: progressValue(
      'batch',
      (db, row) => db`greatest(${reported(db, row, 'n_done')}, fp.n_completed)::float8`,
    ),
  },
  n_failed: {
    type: int,
    public: 'shown',
    value: progressValue(
      'batch',
      (db, row) => db`greatest(${reported(db, row, 'n_failed')}, fp.n_failed)::float8`,
    ),
  },
  n_running: {
    type: int,
    public: 'shown',
    value: progressValue('batch', (db) => db`fp.n_running::float8`),
  },
  slots: {
    type: own(z.object({ total: z.int().nullable(), started: z.int(), finished: z.int() })),
    public: 'shown',
  },
  started_at: { type: instant, column: 'started_at', public: 'shown' },
  ended_at: { type: nullable(instant), column: 'ended_at', public: 'shown' },
  last_seen_at: {
    type: instant,
    public: 'shown',
    value: progressValue('batch', (db) => db`fp.last_seen_at`),
  },
  last_received_at: {
    type: nullable(instant),
    means: "When the last of its events was received, by the service's clock",
    public: 'shown',
    value: progressValue('batch', (db) => db`fp.last_received_at`),
  },
  clock_skew_s: {
    type: nullable(float),
    means: "Seconds that its host's clock is behind the service's; null if unknown",
    public: 'shown',
  },
  elapsed_s: {
    type: number,
    means: 'Seconds; "NaN" or "Infinity" if its reporter sent that',
    public: 'shown',
    value: elapsedValue('batch', (db, row) => db`(${row}.reported ->> 'elapsed_s')::float8`),
  },
  eta_s: {
    type: nullable(float),
    means: 'Estimated seconds until it is done; null if it is stalled or has ended',
    public: 'shown',
  },
  progress: {
    type: nullable(float),
    means: 'Progress from 0 to 1, from its jobs and their planned epochs; null without a plan',
    public: 'shown',
    value: progressValue(
      'batch',
      (db, row) => db`(fp.n_completed + fp.n_failed + fp.n_stopped)::float8
        / case when ${row}.n_total > 0 then greatest(${row}.n_total, fp.n_completed + fp.n_failed + fp.n_stopped) end`,
    ),
  },
  failure_reason: { type: nullable(text), column: 'failure_reason', public: 'scrubbed' },
  traceback: {
    type: nullable(text),
    means: 'Traceback of the failure that ended it',
    column: 'traceback',
    public: 'empty',
  },
  // Its host and folder are taken out by `anonymous` (shares/share.ts) before its command is scrubbed.
  env_snapshot: {
    type: nullable(jsonOf(environment)),
    means: "The environment at the start, with the sender's field names",
    column: 'env_snapshot',
    graphql: 'environment',
    public: 'scrubbed',
  },
  events_pending: {
    type: nullable(int),
    means:
      'Events that its reporters counted and that have not arrived yet; null while it runs or without counts',
    public: 'shown',
  },
  rerun_of: { type: nullable(id), column: 'rerun_of', public: 'shown', whole: true },
  sweep_id: {
    type: nullable(id),
    means: 'The sweep whose trials are its jobs; null for other batches',
    column: 'sweep_id',
    public: 'shown',
  },
  deleted_at: { type: instant, graphql: null, optional: true, public: 'shown' },
  can: { type: own(can), means: 'What the caller may do with it now', public: 'shown' },
} as const satisfies Fields

/** A batch in the API. */
export type BatchView = ViewOf<typeof batchFields>
/** The columns of `batches` that are fields. */
export type BatchColumns = StoredOf<typeof batchFields>
