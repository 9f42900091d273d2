import type { Besides } from '../record-rows.ts'
import { eventSkews, eventSkewsOf } from './heard.ts'

/**
 * What a row of a batch has besides the columns of its fields (`BatchRow`), over `b` with `batchJoins`, and in the records
 * of Prisma.
 */
export const besideBatch = {
  key: { sql: 'b.key', from: 'key' },
  project_key: { sql: 'b.project_key', from: 'projectKey' },
  project: { sql: 'p.slug', from: 'project.slug' },
  stop_requested: {
    sql: 'b.stop_requested_at is not null',
    from: 'stopRequestedAt',
    of: (at: string | null) => at !== null,
  },
  owner_id: { sql: 'b.owner_id', from: 'ownerId' },
  owner_name: { sql: 'u.name', from: 'owner.name' },
  reported: { sql: 'b.reported', from: 'reported' },
  last_seen_at: { sql: 's.last_seen_at', from: 'progress.lastSeenAt', instant: true },
  last_received_at: { sql: 's.last_received_at', from: 'progress.lastReceivedAt', instant: true },
  last_live_at: { sql: 's.last_live_at', from: 'progress.lastLiveAt', instant: true },
  clock_skews: { sql: 's.clock_skews', from: 'progress.clockSkews' },
  event_skews: {
    sql: eventSkews('s'),
    from: ['progress.clockSkews', 'progress.lastReceivedAt', 'progress.lastSeenAt'],
    of: eventSkewsOf,
  },
  process: { sql: 'b.process', from: 'process' },
  n_jobs: { sql: 's.n_jobs', from: 'progress.nJobs' },
  n_running: { sql: 's.n_running', from: 'progress.nRunning' },
  n_completed: { sql: 's.n_completed', from: 'progress.nCompleted' },
  n_failed: { sql: 's.n_failed', from: 'progress.nFailed' },
  n_stopped: { sql: 's.n_stopped', from: 'progress.nStopped' },
  deleted_at: { sql: 'b.deleted_at', from: 'deletedAt', instant: true },
  visibility: { sql: 'p.visibility', from: 'project.visibility' },
  project_owner_id: { sql: 'p.owner_id', from: 'project.ownerId' },
  /** The caller's role in the project: of the only member that is read. */
  role: {
    sql: 'm.role',
    from: 'project.members',
    of: ([member]: { role: string }[]) => member?.role ?? null,
  },
} as const satisfies Besides
