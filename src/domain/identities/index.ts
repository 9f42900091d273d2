/**
 * Signing in through identity providers (specification §4.4, contract §3): which identities open which account, and
 * the sign-ins that are under way.
 */
export { ATTEMPT_LIFE_S, type Attempt, consumeAttempt, storeAttempt } from './attempts.ts'
export { type Claimed, isAllowed } from './identity.ts'
export { signInMethods } from './reads.ts'
export { linkIdentity, signInWith, unlinkIdentity } from './writes.ts'
