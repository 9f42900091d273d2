import { Problem } from '../problem.ts'

const MAX_BUCKETS = 10_000

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
export function createLimiter(
  { eventsPerS, burst }: RateLimit,
  clock: () => number = () => performance.now(),
): Limiter {
  const buckets = new Map<string, { level: number; at: number }>()
  const policy = `"events";q=${burst};w=${Math.max(1, Math.ceil(burst / eventsPerS))}`
  return {
    take(tokenId, cost) {
      const at = clock()
      let bucket = buckets.get(tokenId)
      if (bucket === undefined) {
        if (buckets.size >= MAX_BUCKETS) forgetFull(at)
        bucket = { level: burst, at }
        buckets.set(tokenId, bucket)
      }
      bucket.level = Math.min(burst, bucket.level + ((at - bucket.at) / 1000) * eventsPerS)
      bucket.at = at
      const needed = Math.min(cost, burst)
      const left = bucket.level - needed
      const resetS = Math.max(0, Math.ceil((burst - Math.max(0, left)) / eventsPerS))
      const headers = {
        'ratelimit-policy': policy,
        ratelimit: `"events";r=${Math.max(0, Math.floor(left))};t=${resetS}`,
      }
      if (left < 0) {
        const retryAfterS = Math.max(1, Math.ceil(-left / eventsPerS))
        headers.ratelimit = `"events";r=${Math.floor(bucket.level)};t=${retryAfterS}`
        throw new Problem('rate_limited', { retryAfterS, headers })
      }
      bucket.level = left
      return headers
    },
  }

  /** A full bucket is the same as a new one. */
  function forgetFull(at: number): void {
    for (const [id, b] of buckets)
      if (b.level + ((at - b.at) / 1000) * eventsPerS >= burst) buckets.delete(id)
    if (buckets.size >= MAX_BUCKETS) buckets.clear()
  }
}
