import { UNUSED_S } from '../files/index.ts'
import { ABSOLUTE_S, IDLE_S } from '../sessions/index.ts'

/** The retention periods (contract §7), in days; undefined: for ever. */
export interface RetentionDays {
  logLine: number
  event: number | undefined
  deleted: number
  notification: number
}

/** The time before which each kind of data has expired; null: never. */
export interface Cutoffs {
  /** Log lines and the payloads of their events, by the time of the event. */
  lines: string
  /** Payloads of other events, by the time of the event. */
  payloads: string | null
  /** Batches, by when they were deleted; tokens, by when they were revoked. */
  deleted: string
  /** Firings of rules. */
  notifications: string
  /** Notices of the bell. */
  notices: string
  /** Uploads, by when they were continued; content, by when its last reference went. */
  unused: string
  sessionsUsed: string
  sessionsOpened: string
  now: string
}

/** The kinds of data that the sweeper deletes, under their names in its log and in the dry run. */
export const KINDS = [
  'log_lines',
  'event_payloads',
  'deleted_batches',
  'sessions',
  'revoked_tokens',
  'sign_in_attempts',
  'failed_jobs',
  'confirmations',
  'mail_budgets',
  'notifications',
  'notices',
  'comments',
  'uploads',
  'contents',
  'changes',
] as const
export type Kind = (typeof KINDS)[number]

const DAY_S = 86_400
const NOTICE_DAYS = 90

export function cutoffsOf(days: RetentionDays, now: Date): Cutoffs {
  const ago = (seconds: number): string => new Date(now.getTime() - seconds * 1000).toISOString()
  return {
    lines: ago(days.logLine * DAY_S),
    payloads: days.event === undefined ? null : ago(days.event * DAY_S),
    deleted: ago(days.deleted * DAY_S),
    notifications: ago(days.notification * DAY_S),
    notices: ago(NOTICE_DAYS * DAY_S),
    unused: ago(UNUSED_S),
    sessionsUsed: ago(IDLE_S),
    sessionsOpened: ago(ABSOLUTE_S),
    now: now.toISOString(),
  }
}
