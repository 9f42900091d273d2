/** Second factors of accounts: an authenticator app (TOTP, RFC 6238) with recovery codes, and challenges to answer. */
export {
  CHALLENGE_LIFE_S,
  forgetChallenges,
  makeChallenge,
  takeChallenge,
  tryChallenge,
} from './challenges.ts'
export { type Factors, factorsOf } from './reads.ts'
export { beginTotp, confirmTotp, disableTotp, renewRecoveryCodes, resetFactors, useFactor } from './writes.ts'
