import type { CallerUser } from '../domain/caller.ts'
import type { IgnoredValue } from '../domain/events/index.ts'
import type { Problem } from '../problem.ts'
import type { Checked } from './envelope.ts'

/** A checked event and its sender. */
export interface Item {
  checked: Checked
  sender: Sender
}

/** The user behind the token that sent an event. */
export interface Sender extends Pick<CallerUser, 'id' | 'role'> {
  /** Null for events that the service itself makes for this user, whose rights it has checked. */
  tokenId: string | null
  /** The agent's command whose process the token was issued for. */
  commandId: string | null
  /** The batch that such a token is bound to; null if that is not known. */
  batchId: string | null
}

/** The result for one event: stored, a repeat, or refused. Never an exception (contract §1). */
export type Outcome = Stored | Refused
export interface Stored {
  dbId: number
  deduplicated: boolean
  /** Values that were not stored; undefined if there are none. */
  ignored?: IgnoredValue[] | undefined
  /** Its batch is in the trash: the event is stored, but hidden until the batch is restored. */
  deleted?: boolean | undefined
}
export interface Refused {
  problem: Problem
}
