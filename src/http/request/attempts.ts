import { required } from '../../checked.ts'
import { Problem, type ProblemCode } from '../../problem.ts'
import { networkOf } from '../server/network-of.ts'

/** How many keys are kept; beyond that the least recently used one is dropped. */
const MAX_KEYS = 10_000

interface Limit {
  most: number
  windowMs: number
  code: ProblemCode
  /** Attempts within the window by key, in order of last use. */
  taken: Map<string, number[]>
}

/** Limits attempts within a time window, by account and by network. Each process counts on its own. */
export interface AttemptLimits {
  /**
   * Counts an attempt. The returned function takes it back, because a correct attempt was no guess.
   * @throws Problem `too_many_attempts`, or the code given
   */
  take(who: { account?: string; address?: string }, now: Date): () => void
}

/** @param most attempts within `windowS` seconds, by default a minute */
export function createAttemptLimits(
  most: { account: number; address: number } = { account: 5, address: 20 },
  { windowS = 60, code = 'too_many_attempts' }: { windowS?: number; code?: ProblemCode } = {},
): AttemptLimits {
  const rule = { windowMs: windowS * 1000, code }
  const accounts: Limit = { ...rule, most: most.account, taken: new Map() }
  const addresses: Limit = { ...rule, most: most.address, taken: new Map() }
  return {
    take({ account, address }, now) {
      const at = now.getTime()
      const pairs: [Limit, string][] = []
      if (account !== undefined) pairs.push([accounts, account])
      if (address !== undefined) pairs.push([addresses, networkOf(address)])
      for (const [limit, key] of pairs) refuseOverLimit(limit, key, at)
      for (const [limit, key] of pairs) limit.taken.get(key)?.push(at)
      return () => {
        for (const [limit, key] of pairs) giveBack(limit, key, at)
      }
    },
  }
}

function refuseOverLimit({ most, windowMs, code, taken }: Limit, key: string, now: number): void {
  const recent = (taken.get(key) ?? []).filter((at) => at > now - windowMs)
  taken.delete(key)
  taken.set(key, recent)
  if (taken.size > MAX_KEYS) taken.delete(required(taken.keys().next().value))
  const oldest = recent[0]
  if (recent.length < most || oldest === undefined) return
  const retryAfterS = Math.max(1, Math.ceil((oldest + windowMs - now) / 1000))
  throw new Problem(code, {
    retryAfterS,
    headers: {
      'ratelimit-policy': `"attempts";q=${most};w=${windowMs / 1000}`,
      ratelimit: `"attempts";r=0;t=${retryAfterS}`,
    },
  })
}

function giveBack({ taken }: Limit, key: string, at: number): void {
  const recent = taken.get(key)
  const index = recent?.indexOf(at) ?? -1
  if (index >= 0) recent?.splice(index, 1)
}
