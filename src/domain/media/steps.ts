import type { Db } from '../../db/sql.ts'
import { isStorable } from '../storable-text.ts'
import { type MediaOwners, ownedBy } from './reads.ts'

/** More steps than a slider has places for. */
export const MAX_STEPS = 20_000

/** The last steps at which these jobs have media of these keys, ascending. */
export async function listMediaSteps(
  db: Db,
  owners: MediaOwners,
  { keys, jobs }: { keys: string[] | undefined; jobs: string[] | undefined },
): Promise<number[]> {
  const [ofKeys, ofJobs] = [keys?.filter(isStorable), jobs?.filter(isStorable)]
  const rows = await db<{ step: number }[]>`/* media.steps */
    select distinct m.step from media m
    where ${ownedBy(db, owners)}
      and ${ofKeys === undefined ? db`true` : db`m.key = any (${ofKeys}::text[])`}
      and ${
        ofJobs === undefined
          ? db`true`
          : db`m.job_key in (select key from jobs where batch_key = any (${[...owners.batches]}::bigint[]) and id = any (${ofJobs}::text[]))`
      }
    order by m.step desc limit ${MAX_STEPS}`
  return rows.map(({ step }) => step).reverse()
}
