import { Problem } from '../problem.ts'

const WINDOW_MS = 60_000
/** Keys remembered at once; past that the one that was quiet for longest is forgotten. */
const MOST_KEYS = 10_000

interface Limit {
  perMinute: number
  /** Attempts of the last minute by key, in order of last use. */
  taken: Map<string, number[]>
}

/** Guesses at passwords: 5 a minute at one account, 20 a minute from one address (contract §3), in this process. */
export interface AttemptLimits {
  /**
   * Counts an attempt, or throws `too_many_attempts`. The function it answers takes the attempt back: one that
   * turned out to be right was no guess.
   */
  take(who: { account?: string; address?: string }, now: Date): () => void
}

export function createAttemptLimits(perMinute = { account: 5, address: 20 }): AttemptLimits {
  const accounts: Limit = { perMinute: perMinute.account, taken: new Map() }
  const addresses: Limit = { perMinute: perMinute.address, taken: new Map() }
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

function refuseOverLimit({ perMinute, taken }: Limit, key: string, now: number): void {
  const recent = (taken.get(key) ?? []).filter((at) => at > now - WINDOW_MS)
  taken.delete(key)
  taken.set(key, recent)
  if (taken.size > MOST_KEYS) taken.delete(taken.keys().next().value as string)
  const oldest = recent[0]
  if (recent.length < perMinute || oldest === undefined) return
  const retryAfterS = Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1000))
  throw new Problem('too_many_attempts', {
    retryAfterS,
    headers: {
      'ratelimit-policy': `"attempts";q=${perMinute};w=${WINDOW_MS / 1000}`,
      ratelimit: `"attempts";r=0;t=${retryAfterS}`,
    },
  })
}

function giveBack({ taken }: Limit, key: string, at: number): void {
  const recent = taken.get(key)
  const index = recent?.indexOf(at) ?? -1
  if (index >= 0) recent?.splice(index, 1)
}

/** A household or a server has a whole IPv6 network of 64 bits to itself, so that is what counts as one address. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...right].slice(0, 4).join(':')
}
