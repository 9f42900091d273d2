/** Accounts (contract §3): their data, passwords, and administration. */
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
