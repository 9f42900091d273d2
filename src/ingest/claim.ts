import { byBatch } from '../db/by-batch.ts'
import { CopyRows } from '../db/copy.ts'
import type { Fragment, Tx } from '../db/sql.ts'
import { type SqlFragment, sqlFragment } from '../db/sql-fragment.ts'
import { eventTypeCode, type Incoming } from '../domain/events/index.ts'
import type { Checked } from './envelope.ts'
import { putPayload } from './templates.ts'

/** As many db_ids as one call of the sequence gives (prisma/migrations/002_telemetry). */
const BLOCK = 32

/** An event as its sender names it: another batch may use the same event_id for another event (contract §1). */
export interface EventIdentity {
  batchId: string
  eventId: string
}

export const identityOf = ({ event, eventId }: Checked): EventIdentity => ({
  batchId: event.batch_id,
  eventId,
})

/** One text for each identity. An event_id has a fixed length, so no two identities share one. */
export const identityKey = ({ batchId, eventId }: EventIdentity): string => `${eventId} ${batchId}`

/** Which of these events are stored already (step 5). */
export const storedEvents = (tx: Tx, events: readonly EventIdentity[]): Fragment => tx`
  select b.id as batch_id, e.event_id, e.db_id
  from unnest(${events.map((e) => e.batchId)}::text[], ${events.map((e) => e.eventId)}::uuid[]) as w (batch_id, event_id)
  join batches b on b.id = w.batch_id
  join events e on e.batch_key = b.key and e.event_id = w.event_id`

export interface StoredEvent {
  batch_id: string
  event_id: string
  db_id: number
}

/** The same where the tables are distributed: one statement a batch. @param batches batch_id → key of those that exist */
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

/** So many blocks of db_ids: their first ids. */
export const idBlocks = (tx: Tx, blocks: number): Fragment => tx`
  select nextval('event_block') as first from generate_series(1, ${blocks}::int)`

/**
 * The db_ids that this server took and has not used yet, ascending. A reader of a batch continues after the last db_id
 * it saw, so within a batch ids follow the order of groups, of all servers: a group that finds its batches as this
 * server left them may use ids that were taken before; any other takes new ones once it holds its batches' locks, and
 * then the older ones are not used any more.
 */
export interface IdSupply {
  readonly size: number
  /** The next id. Throws when there is none. */
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
      if (first === undefined) throw new Error('more db_ids were asked for than were taken')
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
  /** Its payload in place of its text, where it has a template. */
  packed: Buffer | undefined
}

/**
 * Stores the raw events (step 7). Each column travels as one text split by newlines: the payloads are single lines
 * of JSON, and nothing has to be escaped or parsed on the way.
 * An event that another server stored since `storedEvents` is a unique violation: the group starts over.
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

/** The same rows for a trip to copy. */
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
