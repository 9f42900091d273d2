import { LRUCache } from 'lru-cache'

/** How many buckets are kept. Beyond that the least recently used one is dropped: it is the likeliest to be full. */
const MAX_BUCKETS = 10_000

/** Buckets of tokens by key, in this process: `perS` flow into each, up to `burst`. */
export interface TokenBuckets {
  /**
   * Takes `cost`, or nothing if the bucket has less. More than `burst` is taken once the bucket is full, so that nothing
   * is refused forever.
   */
  take(key: string, cost: number): Taken
  /** Takes a cost that is known only afterwards. The bucket may then owe, at most one burst. */
  spend(key: string, cost: number): void
  /** Seconds until the bucket owes nothing; 0 if it does not. */
  owesS(key: string): number
}

export interface Taken {
  /** Seconds until it could be taken; 0 if it was. */
  waitS: number
  /** What the bucket has; what it would lack, as a negative number, if nothing was taken. */
  left: number
}

/** @param clock in milliseconds */
export function createTokenBuckets(
  { perS, burst }: { perS: number; burst: number },
  clock: () => number = () => performance.now(),
): TokenBuckets {
  const buckets = new LRUCache<string, { level: number; at: number }>({ max: MAX_BUCKETS })
  function filled(key: string): { level: number } {
    const at = clock()
    let bucket = buckets.get(key)
    if (bucket === undefined) {
      bucket = { level: burst, at }
      buckets.set(key, bucket)
    }
    bucket.level = Math.min(burst, bucket.level + ((at - bucket.at) / 1000) * perS)
    bucket.at = at
    return bucket
  }
  return {
    take(key, cost) {
      const bucket = filled(key)
      const left = bucket.level - Math.min(cost, burst)
      if (left < 0) return { waitS: -left / perS, left }
      bucket.level = left
      return { waitS: 0, left }
    },
    spend(key, cost) {
      const bucket = filled(key)
      bucket.level = Math.max(-burst, bucket.level - cost)
    },
    owesS: (key) => Math.max(0, -filled(key).level / perS),
  }
}
