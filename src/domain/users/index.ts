/** People's accounts (contract §3): who they are, their passwords, and what an administrator may change. */
export { hashPassword, PASSWORD, requireUncommonPassword, verifyPassword } from './password.ts'
export { findAccount, findUser, hasUsers, listUsers } from './reads.ts'
export { emailKey, nameFromEmail, type User } from './user.ts'
export {
  administerUser,
  createUser,
  markVerified,
  releaseAddress,
  requireRegistration,
  updateProfile,
} from './writes.ts'
