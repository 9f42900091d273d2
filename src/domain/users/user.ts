import type { CallerUser } from '../caller.ts'

export interface User extends CallerUser {
  createdAt: string
  disabled: boolean
  /** Whether the account's owner proved that the address is theirs. */
  emailVerified: boolean
}

/** What addresses are compared by: two spellings that differ in case only are one account. */
export const emailKey = (email: string): string => email.toLowerCase()

/** The default name: the part of the address before the @. */
export const nameFromEmail = (email: string): string => email.slice(0, email.lastIndexOf('@')).slice(0, 128)
