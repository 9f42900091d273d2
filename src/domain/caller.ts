import type { Payer } from '../cost-budget.ts'

/**
 * The caller (contract §2, §3). The transports create it for each request from its credential; every permission is
 * checked with it.
 */
export type Caller = Anonymous | Known

export interface Anonymous {
  kind: 'anonymous'
  /** The network that the request came from, whose budget it draws on; absent outside of requests. */
  network?: string
}

export interface Known {
  kind: 'known'
  user: CallerUser
  /**
   * The kind of credential: the cookie of a browser or a bearer session (a signed-in person), a reporter, read or agent
   * token (a program of that user, with fewer permissions), or the token of a rerun's process, which sends events of
   * one batch, reads its stop flag, and does nothing else (contract §10).
   */
  via: 'cookie' | 'session' | 'reporter' | 'read' | 'agent' | 'rerun'
  /** The id of the session or token behind the credential; each token of an agent has its own. */
  credentialId: string
  /** A signed-in person without the second factor that this service requires. */
  needsSecondFactor?: boolean
  /** The network address that the request came from; for the audit log. */
  address?: string
  /** The agent, for an agent token. */
  agent?: { id: string; key: number; hostname: string }
  /** For the token of a rerun: the batch that it reports; null before its first event. */
  batchId?: string | null
}

export interface CallerUser {
  id: string
  email: string
  name: string
  role: 'admin' | 'user'
}

/** The operator who runs `svc` commands on the machine or with the database's address. Not a user of the service. */
export interface Operator {
  kind: 'operator'
}

/** A caller before or during a sign-in; `user` is the account, once it is authenticated. */
export interface Visitor {
  kind: 'visitor'
  address: string
  user?: { id: string }
}

/** The actors that the audit log may name. */
export type Actor = Known | Operator | Visitor

export const ANONYMOUS: Anonymous = { kind: 'anonymous' }

/** Whose budget the caller's requests draw on. */
export const payerOf = (caller: Caller): Payer =>
  caller.kind === 'anonymous'
    ? { kind: 'visitor', key: caller.network ?? '' }
    : { kind: 'credential', key: caller.credentialId }

/** A signed-in person, with a cookie or a session token, and not a program with a token. */
export const isPerson = (caller: Caller): caller is Known =>
  caller.kind === 'known' && (caller.via === 'cookie' || caller.via === 'session')

/** A signed-in administrator: a token never has its user's administrator permissions, except for reading. */
export const isAdmin = (caller: Caller): boolean => caller.kind === 'known' && caller.user.role === 'admin'

/** An id that no user has, for conditions of Prisma that compare with the caller's. */
export const NO_USER = '00000000-0000-0000-0000-000000000000'
