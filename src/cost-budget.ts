import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from './problem.ts'
import { createTokenBuckets, type TokenBuckets } from './token-buckets.ts'

/**
 * The cost of requests over time. Costs are those of graphql/costs.ts: about a row, or what takes as long. Callers
 * without a credential draw on the budget of their network, others on that of their credential.
 */
export interface CostBudget {
  /** @throws Problem budget_exceeded, with the whole seconds until the budget covers the cost */
  take(payer: Payer, cost: number): void
  /** Takes a cost that is known only afterwards. */
  spend(payer: Payer, cost: number): void
  /**
   * Waits until the budget covers the cost, and takes it: for streams, which are slowed down instead of refused.
   * @returns false if `ended` says that it is no longer needed
   */
  wait(payer: Payer, cost: number, ended: () => boolean): Promise<boolean>
  /** How many requests were refused, since the start. */
  readonly refused: Readonly<Record<Payer['kind'], number>>
}

/** Whose budget a request draws on. */
export interface Payer {
  kind: 'visitor' | 'credential'
  /** The network of a visitor, or the id of a credential. */
  key: string
}

/** What any request costs: it is read, checked and answered, if only by a refusal. */
export const REQUEST_COST = 50
/** The same of a GraphQL operation, whose text has to be parsed and validated, and of a stream. */
export const OPERATION_COST = 200
/** Bytes of JSON that take as long to make as a row costs. */
const BYTES_PER_COST = 200
export const costOfBytes = (bytes: number): number => bytes / BYTES_PER_COST

/** How many seconds of its rate a budget holds. */
const BURST_S = 40
/** How long a waiting stream sleeps at most before it looks whether its client has gone. */
const MAX_SLEEP_MS = 1_000

export function createCostBudget(perS: Record<Payer['kind'], number>, clock?: () => number): CostBudget {
  const bucketsOf = (rate: number): TokenBuckets =>
    createTokenBuckets({ perS: rate, burst: rate * BURST_S }, clock)
  const buckets = { visitor: bucketsOf(perS.visitor), credential: bucketsOf(perS.credential) }
  const refused = { visitor: 0, credential: 0 }
  return {
    refused,
    take({ kind, key }, cost) {
      const { waitS } = buckets[kind].take(key, cost)
      if (waitS === 0) return
      refused[kind]++
      throw new Problem('budget_exceeded', {
        retryAfterS: Math.max(1, Math.ceil(waitS)),
        detail: DETAIL[kind],
      })
    },
    spend: ({ kind, key }, cost) => buckets[kind].spend(key, cost),
    async wait({ kind, key }, cost, ended) {
      for (;;) {
        if (ended()) return false
        const { waitS } = buckets[kind].take(key, cost)
        if (waitS === 0) return true
        await sleep(Math.min(MAX_SLEEP_MS, Math.max(10, waitS * 1000)), undefined, { ref: false })
      }
    },
  }
}

const DETAIL = {
  visitor:
    'Requests without a credential from your network have read more than the service allows: wait, ask for less, or sign in',
  credential: 'This credential has read more than the service allows: wait, or ask for less',
} as const
