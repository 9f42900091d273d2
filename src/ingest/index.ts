import type { Sql } from '../db/sql.ts'
import type { Writer } from '../stream/commit.ts'
import { type Authenticator, createAuthenticator } from './authenticate.ts'
import { createGroupCommit, type GroupCommit } from './group.ts'
import { createLimiter, type RateLimit } from './limit.ts'
import type { Receiver } from './receive.ts'

export type { Outcome, Sender, Stored } from './outcome.ts'
export { receiveEvent, receiveEvents } from './receive.ts'

export interface Ingest extends Receiver, Authenticator {
  group: GroupCommit
}

export function createIngest(options: {
  sql: Sql
  writer: Writer
  now: () => Date
  rateLimit: RateLimit
  autocreate: boolean
}): Ingest {
  return {
    ...createAuthenticator(options),
    limiter: createLimiter(options.rateLimit),
    group: createGroupCommit(options.writer, { autocreate: options.autocreate, now: options.now }),
  }
}
