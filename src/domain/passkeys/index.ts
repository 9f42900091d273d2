/** Passkeys (WebAuthn): ways to sign in that a device keeps and no page can ask for by mistake. */

export {
  type RelyingParty,
  registrationOptions,
  signInOptions,
  signInWithPasskey,
  takeSignIn,
  verifyRegistration,
} from './ceremonies.ts'
export { addPasskey, deletePasskey, listPasskeys, type Passkey, renamePasskey } from './passkeys.ts'
