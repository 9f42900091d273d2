import type { Tx } from '../db/sql.ts'
import { Problem } from '../problem.ts'

/** How many of a kind one user may have at a time (docs/security.md "Quotas"). */
export interface Quota {
  /** Such as `reporter and read tokens`, for the error. */
  what: string
  most: number
  /** The setting of `most`. */
  setting: string
}

/**
 * Takes the user's lock, so that of two requests at the same moment the second counts what the first made.
 * @throws Problem quota_exceeded once the user has as many as the quota allows
 */
export async function holdQuota(
  tx: Tx,
  userId: string,
  quota: Quota,
  count: (tx: Tx) => Promise<number>,
): Promise<void> {
  await tx`/* quotas.lock_user */ select from users where id = ${userId} for no key update`
  if ((await count(tx)) >= quota.most) throw quotaExceeded(quota)
}

export const quotaExceeded = ({ what, most, setting }: Quota): Problem =>
  new Problem('quota_exceeded', { detail: `One user may have ${most} ${what} at a time (${setting})` })
