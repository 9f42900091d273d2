/** Verification of addresses, consent to mail, and limits on how much mail an address gets. */
export { type MailLimits, releaseMail, reserveMail } from './budgets.ts'
export {
  type Confirmation,
  confirmAddress,
  findConfirmation,
  issueToken,
  type PendingMail,
  pendingMail,
  requestAccountConfirmation,
  requestConfirmations,
  returnToken,
  type Verification,
  verificationOf,
} from './confirmations.ts'
export {
  type AddressState,
  addressesOf,
  isMailable,
  mayBeMailed,
  resumeAllMail,
  stopAllMail,
} from './state.ts'
