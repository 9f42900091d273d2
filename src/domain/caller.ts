/**
 * Who is calling (contract §2, §3). The transports create one for each request from its credential; every access rule takes it.
 */
export type Caller = Anonymous | Known

export interface Anonymous {
  kind: 'anonymous'
}

export interface Known {
  kind: 'known'
  user: CallerUser
  /**
   * How the caller proved it: a browser's cookie or a bearer session (a person), a reporter, read or agent token
   * (a program acting for that person, with fewer rights), or the token that a rerun's process was given: it sends
   * events of one batch, asks whether that batch was asked to stop, and does nothing else (contract §10).
   */
  via: 'cookie' | 'session' | 'reporter' | 'read' | 'agent' | 'rerun'
  /** The id of the session or token behind the credential; each token of an agent has another. */
  credentialId: string
  /** The network address that the request came from; for the audit log. */
  address?: string
  /** The agent that asks, with its token. */
  agent?: { id: string; key: number; hostname: string }
  /** Of a rerun's token: the batch that it reports; null before its first event. */
  batchId?: string | null
}

export interface CallerUser {
  id: string
  email: string
  name: string
  role: 'admin' | 'user'
}

/** The person who runs `svc` commands on the machine or with the database's address. Not a user of the service. */
export interface Operator {
  kind: 'operator'
}

/** A caller before or during a sign-in; `user` is the account that they sign in to, once that is proved. */
export interface Visitor {
  kind: 'visitor'
  address: string
  user?: { id: string }
}

/** Who may have done what is written down. */
export type Actor = Known | Operator | Visitor

export const ANONYMOUS: Anonymous = { kind: 'anonymous' }

/** A person at a browser or with a session token, as opposed to a program with a narrower token. */
export const isPerson = (caller: Caller): caller is Known =>
  caller.kind === 'known' && (caller.via === 'cookie' || caller.via === 'session')

/** An administrator, in person: a token never carries its user's administrator rights beyond reading. */
export const isAdmin = (caller: Caller): boolean => caller.kind === 'known' && caller.user.role === 'admin'
