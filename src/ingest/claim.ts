import { byBatch } from '../db/by-batch.ts'
import { CopyRows } from '../db/copy.ts'
import type { Fragment, Tx } from '../db/sql.ts'
import { type SqlFragment, sqlFragment } from '../db/sql-fragment.ts'
import { eventTypeCode, type Incoming } from '../domain/events/index.ts'
import type { Checked } from './envelope.ts'
import { putPayload } from './templates.ts'

/** How many db_ids one call of the sequence reserves (prisma/migrations/002_telemetry). */
const BLOCK = 32

/** An event's identity for its sender: another batch may use the same event_id for another event (contract §1). */
export interface EventIdentity {
  batchId: string
  eventId: string
}

export const identityOf = ({ event, eventId }: Checked): EventIdentity => ({
  batchId: event.batch_id,
  eventId,
})

/** The identity as one text. An event_id has a fixed length, so no two identities have the same text. */
export const identityKey = ({ batchId, eventId }: EventIdentity): string => `${eventId} ${batchId}`

/**
 * Which of these events are stored already (step 5). One look-up by key each: as a join, a plan made while the tables are
 * empty reads all events of the batch for every event of the group, and a prepared statement keeps its plan.
 */
export const storedEvents = (tx: Tx, events: readonly EventIdentity[]): Fragment => tx`
  select b.id as batch_id, w.event_id, e.db_id
  from unnest(${events.map((e) => e.batchId)}::text[], ${events.map((e) => e.eventId)}::uuid[]) as w (batch_id, event_id)
  join batches b on b.id = w.batch_id
  cross join lateral (
    select e.db_id from events e where e.batch_key = b.key and e.event_id = w.event_id limit 1) e`

export interface StoredEvent {
  batch_id: string
  event_id: string
  db_id: number
}

/** The same on a cluster: one statement per batch. @param batches batch_id → key, for existing batches */
export async function storedEventsOf(
  tx: Tx,
  events: readonly EventIdentity[],
  batches: ReadonlyMap<string, number>,
): Promise<StoredEvent[]> {
  const known = events.flatMap(({ batchId, eventId }) => {
    const batchKey = batches.get(batchId)
    return batchKey === undefined ? [] : [{ batchKey, batchId, eventId }]
  })
  return byBatch(
    tx,
    known,
    (own, batch) => tx<StoredEvent[]>`/* ingest.stored */
      select u.batch_id, e.event_id, e.db_id
      from unnest(${own.map((e) => e.batchKey)}::bigint[], ${own.map((e) => e.batchId)}::text[], ${own.map((e) => e.eventId)}::uuid[])
        as u (batch_key, batch_id, event_id)
      join events e on e.batch_key = ${batch} and e.event_id = u.event_id`,
  )
}

export const blocksFor = (count: number): number => Math.ceil(count / BLOCK)

/** Reserves blocks of db_ids: the first id of each. */
export const idBlocks = (tx: Tx, blocks: number): Fragment => tx`
  select nextval('event_block') as first from generate_series(1, ${blocks}::int)`

/**
 * db_ids that this server has reserved and not used, ascending. A reader of a batch continues after the last db_id that it
 * saw. So within a batch, ids must ascend in the order of groups, across all servers. A group whose batches only this
 * server wrote since its last group may use ids that were reserved before. Any other group reserves new ids once it
 * holds its batches' locks, and the older ones are dropped.
 */
export interface IdSupply {
  readonly size: number
  /** The next id. Throws if there is none. */
  next(): number
  add(blocks: readonly number[]): void
  clear(): void
}

export function createIdSupply(): IdSupply {
  let blocks: number[] = []
  /** How many of the first block are used. */
  let used = 0
  return {
    get size() {
      return blocks.length * BLOCK - used
    },
    next() {
      const first = blocks[0]
      if (first === undefined) throw new Error('more db_ids were used than reserved')
      const id = first + used++
      if (used === BLOCK) {
        blocks.shift()
        used = 0
      }
      return id
    },
    add(more) {
      blocks.push(...more)
    },
    clear() {
      blocks = []
      used = 0
    },
  }
}

export interface Claim {
  incoming: Incoming
  eventId: string
  batchKey: number
  jobKey: number | null
  /** The payload without its template (templates.ts); undefined if it is stored as text. */
  packed: Buffer | undefined
}

/**
 * Stores the raw events (step 7). Each column is sent as one text with a line per event: payloads are single lines of
 * JSON, so nothing needs escaping. An event that another server stored after `storedEvents` was read is a unique
 * violation, and the group is applied again.
 */
export function storeEvents(claims: Claim[]): SqlFragment {
  const column = (value: (claim: Claim) => string | number): string => claims.map(value).join('\n')
  return sqlFragment`
    insert into events (db_id, event_id, batch_key, job_key, type, ts, payload, packed)
    select db_id::bigint, event_id::uuid, batch_key::bigint, nullif(job_key, '')::bigint, type::smallint, ts::timestamptz,
      nullif(payload, ''), decode(nullif(packed, ''), 'hex')
    from rows from (
      string_to_table(${column((c) => c.incoming.dbId)}, chr(10)),
      string_to_table(${column((c) => c.eventId)}, chr(10)),
      string_to_table(${column((c) => c.batchKey)}, chr(10)),
      string_to_table(${column((c) => c.jobKey ?? '')}, chr(10)),
      string_to_table(${column((c) => eventTypeCode(c.incoming.event.event_type))}, chr(10)),
      string_to_table(${column((c) => c.incoming.at)}, chr(10)),
      string_to_table(${column((c) => (c.packed === undefined ? c.incoming.json : ''))}, chr(10)),
      string_to_table(${column((c) => c.packed?.toString('hex') ?? '')}, chr(10))
    ) as e (db_id, event_id, batch_key, job_key, type, ts, payload, packed)`
}

/** The same rows for COPY, in a pipelined write. */
export function copyEvents(claims: readonly Claim[]): CopyRows {
  const size = claims.reduce((sum, c) => sum + (c.packed ?? c.incoming.json).length, 0)
  const rows = new CopyRows('events', EVENT_COLUMNS, size + claims.length * EVENT_BYTES)
  for (const { incoming, eventId, batchKey, jobKey, packed } of claims) {
    rows.row().int8(incoming.dbId).uuid(eventId).int8(batchKey)
    if (jobKey === null) rows.null()
    else rows.int8(jobKey)
    rows.int2(eventTypeCode(incoming.event.event_type)).timestamptz(incoming.at)
    putPayload(rows, incoming.json, packed)
  }
  return rows
}

const EVENT_COLUMNS = ['db_id', 'event_id', 'batch_key', 'job_key', 'type', 'ts', 'payload', 'packed']
/** What a row takes beside its payload. */
const EVENT_BYTES = 80
