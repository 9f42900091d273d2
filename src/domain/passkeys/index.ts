/** Passkeys (WebAuthn): credentials that a device keeps and that work only on this site. */

export {
  type RelyingParty,
  registrationOptions,
  signInOptions,
  signInWithPasskey,
  takeSignIn,
  verifyRegistration,
} from './ceremonies.ts'
export {
  addPasskey,
  deletePasskey,
  listPasskeys,
  type Passkey,
  passkeyFields,
  renamePasskey,
} from './passkeys.ts'
