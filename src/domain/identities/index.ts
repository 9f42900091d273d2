/**
 * Sign-in through identity providers (specification §4.4, contract §3): identities, their accounts, and sign-ins in
 * progress.
 */
export { ATTEMPT_LIFE_S, type Attempt, consumeAttempt, storeAttempt } from './attempts.ts'
export { type Claimed, isAllowed } from './identity.ts'
export { signInMethods } from './reads.ts'
export { linkIdentity, signInWith, unlinkIdentity } from './writes.ts'
