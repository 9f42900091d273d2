import type { Db, Fragment, Tx } from '../../db/sql.ts'
import { collectContents, collectUploads, countCollectable } from '../files/index.ts'
import { MAX_NOTICES } from '../notices/index.ts'
import type { Cutoffs, Kind } from './retention.ts'

/** Kinds of rows that are no longer read. A step deletes at most `rows`, and returns how many. */
interface Leftover {
  kind: Kind
  step: (tx: Tx, cutoffs: Cutoffs, rows: number) => Promise<number>
  count: (db: Db, cutoffs: Cutoffs) => Promise<number>
}

const only = async (rows: Promise<{ n: number }[]>): Promise<number> => (await rows)[0]?.n ?? 0

const endedSessions = (db: Db, { now, sessionsUsed, sessionsOpened }: Cutoffs): Fragment => db`
  select id from sessions
  where closed_at < ${now}::timestamptz or last_used_at < ${sessionsUsed}::timestamptz
    or created_at < ${sessionsOpened}::timestamptz`

const revokedTokens = (db: Db, { deleted }: Cutoffs): Fragment => db`
  select id from tokens where revoked_at < ${deleted}::timestamptz`

const expiredAttempts = (db: Db, { now }: Cutoffs): Fragment => db`
  select state_hash from oauth_attempts where expires_at < ${now}::timestamptz`

const endedConfirmations = (db: Db, { deleted }: Cutoffs): Fragment => db`
  select id from address_confirmations where expires_at < ${deleted}::timestamptz`

/** Past hours: only the budget of the present hour is used. */
const pastBudgets = (db: Db, { now }: Cutoffs): Fragment => db`
  select scope, hour from mail_budgets where hour < ${now}::timestamptz - interval '1 day'`

/** The queue makes its own tables when a server first starts. */
async function hasQueue(db: Db): Promise<boolean> {
  const [row] = await db<{ there: boolean }[]>`/* retention.has_queue */
    select to_regclass('graphile_worker.jobs') is not null there`
  return row?.there === true
}

/** Tasks of the queue that failed at every attempt. */
const failedJobs = (db: Db, { deleted }: Cutoffs): Fragment => db`
  select id from graphile_worker.jobs
  where attempts >= max_attempts and locked_at is null and updated_at < ${deleted}::timestamptz`

/**
 * Firings of rules, with the marks of their mails. A repeat does not fire again without them: an event's id is stored
 * for ever, and so is an evaluated episode (table verdicts). But two episodes, silent and lost, share one firing, so
 * the firing of a silence stays while it lasts; and so does one whose mail still waits.
 */
const oldFirings = (db: Db, { notifications }: Cutoffs): Fragment => db`
  select f.id from notification_firings f
  where f.fired_at < ${notifications}::timestamptz
    and not (f.event_key like 'stalled:%' and exists (
      select from batches b join batch_progress g on g.batch_key = b.key
      where b.key = f.batch_key and b.purged_at is null
        and g.last_seen_at <= substring(f.event_key from '^stalled:[0-9]+:(.*)$')::timestamptz))
    and not exists (select from graphile_worker.jobs j where j.key = 'mail:' || f.id)`

/** Notices that are old, and those of a person beyond the newest. */
const oldNotices = (db: Db, { notices }: Cutoffs): Fragment => db`
  select id from notices where created_at < ${notices}::timestamptz
  union
  select n.id from (select user_id from notices group by user_id having count(*) > ${MAX_NOTICES}) u
  cross join lateral (select id from notices where user_id = u.user_id order by id desc offset ${MAX_NOTICES}) n`

/** Deleted comments, whose texts are gone already. */
const deletedComments = (db: Db, { deleted }: Cutoffs): Fragment => db`
  select id from comments where deleted_at < ${deleted}::timestamptz`

/** Rows of a table, by what selects their keys. */
const rowsOf = (
  kind: Kind,
  table: string,
  key: readonly string[],
  ids: (db: Db, cutoffs: Cutoffs) => Fragment,
): Leftover => ({
  kind,
  step: async (tx, cutoffs, rows) =>
    (
      await tx`/* retention.leftovers */
        delete from ${tx(table)} where (${tx([...key])}) in (select * from (${ids(tx, cutoffs)}) i limit ${rows})`
    ).count,
  count: (db, cutoffs) =>
    only(db`/* retention.count_leftovers */ select count(*) n from (${ids(db, cutoffs)}) i`),
})

export const LEFTOVERS: Leftover[] = [
  rowsOf('sessions', 'sessions', ['id'], endedSessions),
  rowsOf('revoked_tokens', 'tokens', ['id'], revokedTokens),
  rowsOf('sign_in_attempts', 'oauth_attempts', ['state_hash'], expiredAttempts),
  {
    kind: 'failed_jobs',
    step: async (tx, cutoffs, rows) => {
      if (!(await hasQueue(tx))) return 0
      const gone = await tx`/* retention.failed_jobs */
        select graphile_worker.complete_jobs(array(${failedJobs(tx, cutoffs)} limit ${rows}))`
      return gone.count
    },
    count: async (db, cutoffs) => {
      if (!(await hasQueue(db))) return 0
      return only(db`/* retention.count_failed_jobs */ select count(*) n from (${failedJobs(db, cutoffs)}) j`)
    },
  },
  rowsOf('confirmations', 'address_confirmations', ['id'], endedConfirmations),
  rowsOf('mail_budgets', 'mail_budgets', ['scope', 'hour'], pastBudgets),
  {
    kind: 'notifications',
    step: async (tx, cutoffs, rows) => {
      if (!(await hasQueue(tx))) return 0
      const gone = await tx`/* retention.notifications */
        delete from notification_firings where id in (${oldFirings(tx, cutoffs)} order by f.fired_at limit ${rows})`
      return gone.count
    },
    count: async (db, cutoffs) => {
      if (!(await hasQueue(db))) return 0
      return only(
        db`/* retention.count_notifications */ select count(*) n from (${oldFirings(db, cutoffs)}) f`,
      )
    },
  },
  rowsOf('notices', 'notices', ['id'], oldNotices),
  rowsOf('comments', 'comments', ['id'], deletedComments),
  {
    kind: 'uploads',
    step: (tx, { unused }, rows) => collectUploads(tx, unused, rows),
    count: async (db, { unused }) => (await countCollectable(db, unused)).uploads,
  },
  {
    kind: 'contents',
    step: (tx, { unused }, rows) => collectContents(tx, unused, rows),
    count: async (db, { unused }) => (await countCollectable(db, unused)).contents,
  },
]
