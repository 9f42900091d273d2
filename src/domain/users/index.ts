/** Accounts (contract §3): their data, passwords, and administration. */
export { hashPassword, PASSWORD, requireStrongPassword, verifyPassword } from './password.ts'
export { findAccount, findUser, hasUsers, listUsers } from './reads.ts'
export { emailKey, nameFromEmail, type User } from './user.ts'
export {
  administerUser,
  createUser,
  holdPassword,
  markVerified,
  releaseAddress,
  requireRegistration,
  updateProfile,
} from './writes.ts'
