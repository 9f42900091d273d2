import type { Pipeline } from '../db/pipeline.ts'
import type { Sql } from '../db/sql.ts'
import type { Writer } from '../stream/commit.ts'
import { type Authenticator, createAuthenticator } from './authenticate.ts'
import { createGroupCommit, type GroupCommit, type WrittenGroup } from './group.ts'
import { createLanes } from './lanes.ts'
import { createLimiter, type RateLimit } from './limit.ts'
import { createReceiptClock } from './receipt-clock.ts'
import type { Receiver } from './receive.ts'

export { ACCEPT_POST, EPOCHS_TYPE, EPOCHS_VERSION } from './epochs.ts'
export { createFairShare } from './fair-share.ts'
export { LANES_ON_CLUSTER } from './lanes.ts'
export type { Outcome, Sender, Stored } from './outcome.ts'
export { type OwnEvent, storeOwnEvents } from './own-events.ts'
export type { RequestFacts } from './receipt-clock.ts'
export { receiveEpochs, receiveEvent, receiveEvents } from './receive.ts'

export interface Ingest extends Receiver, Authenticator {
  group: GroupCommit
  /** `listener` is called after every group from now on. */
  onGroup(listener: (group: WrittenGroup) => void): void
}

export function createIngest(options: {
  sql: Sql
  writer: Writer
  /** Without it every group reads the database before it writes. */
  pipeline?: Pipeline
  /** How many groups may be written at once, each through a connection of the writer's pool. Default: 1. */
  lanes?: number
  now: () => Date
  rateLimit: RateLimit
  /** Age in minutes above which a late event is no sign of life. */
  staleAfterMin: number
  autocreate: boolean
  maxProjects: number
  maxSeries: number
  /** Restores batches from the archive. */
  restore?: (batchKeys: readonly number[]) => Promise<void>
}): Ingest {
  let onGroup = (_: WrittenGroup): void => {}
  return {
    ...createAuthenticator(options),
    counts: { stored: 0, duplicate: 0, refused: 0 },
    onGroup(listener) {
      onGroup = listener
    },
    limiter: createLimiter(options.rateLimit),
    reception: createReceiptClock(options.now, options.staleAfterMin),
    group: createLanes(options.lanes ?? 1, () =>
      createGroupCommit(options.writer, options.pipeline, {
        autocreate: options.autocreate,
        maxProjects: options.maxProjects,
        maxSeries: options.maxSeries,
        now: options.now,
        ...(options.restore && { restore: options.restore }),
        wrote: (group) => onGroup(group),
      }),
    ),
  }
}
