import type { CallerUser } from '../caller.ts'

export interface User extends CallerUser {
  createdAt: string
  disabled: boolean
  /** Whether the user has confirmed the address. */
  emailVerified: boolean
}

/** The form in which addresses are compared: without case. */
export const emailKey = (email: string): string => email.toLowerCase()

/** The default name: the part of the address before the @. */
export const nameFromEmail = (email: string): string => email.slice(0, email.lastIndexOf('@')).slice(0, 128)
