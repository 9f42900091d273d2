import { createAttemptLimits } from '../request/attempts.ts'
import { networkOf } from '../server/network-of.ts'

/** The account that is signed in to, and the client address. */
export interface SignInAttempt {
  /** The e-mail address of the account in lower case, or its user's id. */
  account: string
  address: string
}

/** How many wrong passwords an account may have in an hour, from all unknown networks together. */
export const PASSWORDS_PER_HOUR = 100
/** The same of codes. Of a million codes, three are valid at a time. */
export const CODES_PER_HOUR = 20

/** Limits wrong passwords and codes (contract §3). Each process counts on its own. */
export interface SignInLimiter {
  /**
   * Runs `check`, which returns whether the password or code was correct, and counts the attempt if it was not. If
   * `check` throws, nothing is counted: an overloaded service is not a wrong password.
   * @param isKnownPlace whether the account's user has signed in from there before; called only during an attack
   * @throws Problem too_many_attempts, before `check` runs
   */
  check(
    who: SignInAttempt,
    now: Date,
    isKnownPlace: () => Promise<boolean>,
    check: () => Promise<boolean>,
  ): Promise<boolean>
}

/**
 * Allows 5 wrong attempts a minute at one account from one network, and 20 from one network (contract §3), so attackers
 * lock out themselves and not the user. All networks together have `perHour` wrong attempts at one account; beyond that
 * only browsers and networks that the user has signed in from before may try. So an attack from many addresses gains
 * nothing and does not lock the user out.
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
