import { createAttemptLimits } from '../request/attempts.ts'
import { networkOf } from '../server/network-of.ts'

/** Who guesses at what, and from where. */
export interface SignInAttempt {
  /** What is guessed at: the address of an account in lower case, or the id of its owner. */
  account: string
  address: string
}

/** Guesses at passwords and codes, counted in this process (contract §3). */
export interface SignInLimiter {
  /**
   * Runs `check`, which answers whether the guess was right, and counts it unless it was. A check that throws is no
   * guess: an overloaded service does not count as a failed sign-in.
   * @param isKnownPlace whether the account's owner is known to sign in from there; asked only under attack
   * @throws Problem `too_many_attempts`, before `check` is run
   */
  check(
    who: SignInAttempt,
    now: Date,
    isKnownPlace: () => Promise<boolean>,
    check: () => Promise<boolean>,
  ): Promise<boolean>
}

/**
 * 5 wrong guesses a minute at one account from one address, and 20 from one address (contract §3): attackers
 * lock out themselves and not the owner. All addresses together have `perHour` wrong guesses at one account; beyond
 * that only places that its owner signed in from before may try, so an attack from many addresses gains nothing and does not lock the owner out.
 */
export function createSignInLimiter({ perHour }: { perHour: number }): SignInLimiter {
  const near = createAttemptLimits({ account: 5, address: 20 })
  const everywhere = createAttemptLimits({ account: perHour, address: 0 }, { windowS: 3600 })
  return {
    async check({ account, address }, now, isKnownPlace, check) {
      const forgive = [near.take({ account: `${account} ${networkOf(address)}`, address }, now)]
      try {
        try {
          forgive.push(everywhere.take({ account }, now))
        } catch (tooMany) {
          if (!(await isKnownPlace())) throw tooMany
        }
        const right = await check()
        if (right) for (const one of forgive) one()
        return right
      } catch (error) {
        for (const one of forgive) one()
        throw error
      }
    },
  }
}
