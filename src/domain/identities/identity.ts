/** The verified identity of one sign-in at a provider. */
export interface Claimed {
  /** Issuer and subject together are the identity (contract §3). */
  issuer: string
  subject: string
  email?: string | undefined
  /** Whether the provider has verified that the address belongs to the user. */
  emailVerified: boolean
  name?: string | undefined
}

/** An identity that is linked to an account. */
export interface Identity {
  id: string
  issuer: string
  /** The address that the provider sent last. */
  email: string | null
  createdAt: string
  lastUsedAt: string
}

/**
 * Whether a user may sign in through a provider that is limited to these domains; an empty list is no limit. Only an
 * address that the provider has verified counts, and subdomains are not included.
 */
export function isAllowed(claimed: Claimed, domains: readonly string[]): boolean {
  if (domains.length === 0) return true
  if (claimed.email === undefined || !claimed.emailVerified) return false
  return domains.includes(claimed.email.slice(claimed.email.lastIndexOf('@') + 1).toLowerCase())
}
