/**
 * Divides a bounded resource fairly among users. Below the bound any user may take any amount. At the bound, only users
 * who would hold more than an equal share are refused. So a client that floods the service is refused before one that
 * sends little (specification §4.1 step 2, contract §1 "Rate").
 *
 * Users with less than their share are still accepted at the bound. So the total may reach twice the bound while an
 * earlier user's surplus drains.
 */
export interface FairShare {
  /** Total of all users. */
  readonly held: number
  /** Whether `user` may not take `amount` more now. */
  refuses(user: string, amount: number): boolean
  take(user: string, amount: number): void
  giveBack(user: string, amount: number): void
}

/** @param bound the total that all users may hold; read at every call, because it changes with the throughput */
export function createFairShare(bound: () => number): FairShare {
  const holdings = new Map<string, number>()
  let held = 0
  return {
    get held() {
      return held
    },
    refuses(user, amount) {
      const most = bound()
      if (held === 0 || held + amount <= most) return false
      const own = holdings.get(user) ?? 0
      const users = holdings.size + (own === 0 ? 1 : 0)
      return own + amount > most / users || held + amount > 2 * most
    },
    take(user, amount) {
      held += amount
      holdings.set(user, (holdings.get(user) ?? 0) + amount)
    },
    giveBack(user, amount) {
      held -= amount
      const left = (holdings.get(user) ?? 0) - amount
      if (left > 0) holdings.set(user, left)
      else holdings.delete(user)
    },
  }
}
