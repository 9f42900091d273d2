/** Whom a provider vouched for in one sign-in, as far as it was verified. */
export interface Claimed {
  /** Issuer and subject together are the identity (contract §3). */
  issuer: string
  subject: string
  email?: string | undefined
  /** Whether the provider says that the address is that person's. */
  emailVerified: boolean
  name?: string | undefined
}

/** An identity that opens an account. */
export interface Identity {
  id: string
  issuer: string
  /** The address that the provider told last. */
  email: string | null
  createdAt: string
  lastUsedAt: string
}

/**
 * Whether a user may sign in through a provider that is limited to these domains; an empty list is no limit. Only an
 * address that the provider vouches for counts, and a domain means itself, not what is below it.
 */
export function isAllowed(claimed: Claimed, domains: readonly string[]): boolean {
  if (domains.length === 0) return true
  if (claimed.email === undefined || !claimed.emailVerified) return false
  return domains.includes(claimed.email.slice(claimed.email.lastIndexOf('@') + 1).toLowerCase())
}
