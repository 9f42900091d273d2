/**
 * Shares something bounded fairly among the users who want it. While it is not full everybody may take as much as they
 * like. Once it is full, a user is refused who would hold more than an equal part of it, and only that user: so a client
 * that floods the service is refused before one that sends little (specification §4.1 step 2, contract §1 "Rate").
 *
 * Those who hold less than their part still get in when it is full, so it may hold up to twice its bound for the moment
 * in which an earlier user's surplus drains.
 */
export interface FairShare {
  /** What all users hold together. */
  readonly held: number
  /** Whether `user` has to come back later, wanting `amount` more. */
  refuses(user: string, amount: number): boolean
  take(user: string, amount: number): void
  giveBack(user: string, amount: number): void
}

/** @param bound what all may hold together; asked each time, since what the service can take changes */
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
