/** Invitations to projects (contract §10 "Accounts"): membership begins when the invited person accepts. */
export {
  invitationFields,
  listInvitations,
  listProjectInvitations,
  type PendingInvitation,
  pendingInvitation,
  projectInvitationFields,
} from './reads.ts'
export { acceptInvitation, declineInvitation, inviteMember, withdrawInvitation } from './writes.ts'
