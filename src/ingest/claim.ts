import type { Fragment, Tx } from '../db/sql.ts'
import { eventTypeCode, type Incoming } from '../domain/events/index.ts'

/** As many db_ids as one call of the sequence gives (prisma/migrations/002_telemetry). */
const BLOCK = 32

/** Which of these events are stored already (step 5). */
export const storedEvents = (tx: Tx, eventIds: string[]): Fragment => tx`
  select event_id, db_id from events where event_id = any (string_to_array(${eventIds.join(',')}, ',')::uuid[])`

/** Enough blocks of db_ids for `count` events: their first ids. */
export const idBlocks = (tx: Tx, count: number): Fragment => tx`
  select nextval('event_block') as first from generate_series(1, ${Math.ceil(count / BLOCK)}::int)`

/**
 * db_ids, ascending, from the blocks that were taken. What a block has left over is not used, so that ids follow the
 * order of groups.
 */
export function* idsFrom(blocks: { first: number }[]): Generator<number, undefined> {
  for (const { first } of blocks) for (let i = 0; i < BLOCK; i++) yield first + i
}

export interface Claim {
  incoming: Incoming
  eventId: string
  batchKey: number
  jobKey: number | null
}

/**
 * Stores the raw events (step 7). Each column travels as one text split by newlines: the payloads are single lines
 * of JSON, and nothing has to be escaped or parsed on the way.
 * An event_id that another server stored since `findStored` is a unique violation: the group starts over.
 */
export function storeEvents(tx: Tx, claims: Claim[]): Fragment {
  const column = (value: (claim: Claim) => string | number): string => claims.map(value).join('\n')
  return tx`
    insert into events (db_id, event_id, batch_key, job_key, type, ts, payload)
    select db_id::bigint, event_id::uuid, batch_key::bigint, nullif(job_key, '')::bigint, type::smallint, ts::timestamptz, payload
    from rows from (
      string_to_table(${column((c) => c.incoming.dbId)}, chr(10)),
      string_to_table(${column((c) => c.eventId)}, chr(10)),
      string_to_table(${column((c) => c.batchKey)}, chr(10)),
      string_to_table(${column((c) => c.jobKey ?? '')}, chr(10)),
      string_to_table(${column((c) => eventTypeCode(c.incoming.event.event_type))}, chr(10)),
      string_to_table(${column((c) => c.incoming.at)}, chr(10)),
      string_to_table(${column((c) => c.incoming.json)}, chr(10))
    ) as e (db_id, event_id, batch_key, job_key, type, ts, payload)`
}
