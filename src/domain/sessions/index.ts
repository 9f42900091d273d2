/**
 * Sessions of people (contract §3). One row has two credentials: a JWT of 12 h for programs, signed with keys that
 * rotate, and a secret for the browser's cookie, which slides with the row and knows no signing key, so that
 * rotating keys does not sign users out of the page.
 */
export { rotateSigningKey } from './keys.ts'
export {
  isKnownPlace,
  lastConfirmed,
  listSessions,
  liveSessions,
  sessionOfCookie,
  sessionOfJwt,
} from './reads.ts'
export {
  ABSOLUTE_S,
  cookieLifeS,
  IDLE_S,
  type OpenedSession,
  type Origin,
  type Session,
  type SessionRecord,
  type SignInMethod,
  sessionFields,
} from './session.ts'
export {
  closeOwnSession,
  closeSession,
  closeSessionsOf,
  confirmSession,
  openSession,
  touchSession,
} from './writes.ts'
