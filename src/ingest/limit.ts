import { Problem } from '../problem.ts'
import { createTokenBuckets } from '../token-buckets.ts'

export interface RateLimit {
  /** Events per second that a token may send on average. */
  eventsPerS: number
  /** Events that a token may send at once. */
  burst: number
}

export interface Limiter {
  /**
   * Step 2 of specification §4.1: takes `cost` events from the token's bucket. An array larger than the burst is accepted
   * once the bucket is full, so that no valid request is refused forever.
   * @returns the rate limit headers
   * @throws Problem rate_limited, with the whole seconds until the request would be accepted
   */
  take(tokenId: string, cost: number): Record<string, string>
}

/** A token bucket per token, in this process (contract §1 "Rate"). `clock` in milliseconds. */
export function createLimiter({ eventsPerS, burst }: RateLimit, clock?: () => number): Limiter {
  const buckets = createTokenBuckets({ perS: eventsPerS, burst }, clock)
  const policy = `"events";q=${burst};w=${Math.max(1, Math.ceil(burst / eventsPerS))}`
  return {
    take(tokenId, cost) {
      const { waitS, left } = buckets.take(tokenId, cost)
      if (waitS > 0) {
        const retryAfterS = Math.max(1, Math.ceil(waitS))
        const has = Math.floor(left + Math.min(cost, burst))
        const headers = { 'ratelimit-policy': policy, ratelimit: `"events";r=${has};t=${retryAfterS}` }
        throw new Problem('rate_limited', { retryAfterS, headers })
      }
      const resetS = Math.max(0, Math.ceil((burst - left) / eventsPerS))
      return { 'ratelimit-policy': policy, ratelimit: `"events";r=${Math.floor(left)};t=${resetS}` }
    },
  }
}
