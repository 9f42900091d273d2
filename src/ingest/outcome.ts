import type { CallerUser } from '../domain/caller.ts'
import type { IgnoredValue } from '../domain/events/index.ts'
import type { Problem } from '../problem.ts'
import type { Checked } from './envelope.ts'

/** One event of a request on its way through the group. */
export interface Item {
  checked: Checked
  sender: Sender
}

/** The user behind the token that sent an event. */
export interface Sender extends Pick<CallerUser, 'id' | 'role'> {
  tokenId: string
  /** The command of an agent for whose process the token was made. */
  commandId: string | null
  /** The batch that a token of a command was seen to be bound to; null where that has to be asked. */
  batchId: string | null
}

/** What became of one event: stored, a repeat, or refused. Never an exception (contract §1). */
export type Outcome = Stored | Refused
export interface Stored {
  dbId: number
  deduplicated: boolean
  /** Values that were left out; undefined where there are none. */
  ignored?: IgnoredValue[] | undefined
}
export interface Refused {
  problem: Problem
}
