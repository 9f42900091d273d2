/** Invitations to projects (contract §10 "Accounts"): membership begins when the invited person accepts. */
export {
  type Invitation,
  listInvitations,
  listProjectInvitations,
  type PendingInvitation,
  type ProjectInvitation,
  pendingInvitation,
} from './reads.ts'
export { acceptInvitation, declineInvitation, inviteMember, withdrawInvitation } from './writes.ts'
