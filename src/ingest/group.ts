import { itemAt } from '../checked.ts'
import type { Pipeline } from '../db/pipeline.ts'
import { databaseFault, isWorkerAway } from '../db/sql.ts'
import { sqlStateOf } from '../db/worker-errors.ts'
import { Problem } from '../problem.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { inSpan } from '../tracing.ts'
import type { AdmissionRules } from './admit.ts'
import { applyGroup } from './apply.ts'
import { createIngestCache } from './cache.ts'
import { createFairShare } from './fair-share.ts'
import type { Item, Outcome } from './outcome.ts'
import { createPipelinedWriter } from './pipelined-write.ts'
import { createQueue, type Submission } from './queue.ts'
import { ArchivedBatches } from './state.ts'

/**
 * Past this much waiting work new requests are told to come back (503), so that memory stays bounded: at once those of
 * users who take more than their share, everybody at twice as much.
 */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024
/**
 * The same for time: what would wait for longer is refused before it is read. A burst of so many events is always let
 * in, and until large groups tell how fast this machine is, it is taken for a quick one.
 */
const MAX_WAITING_S = 1.2
const BURST_EVENTS = 20_000
const PER_S_AT_FIRST = 20_000
const LARGE_GROUP = 500
/** What a large group leaves of the weight of those before it. */
const FADE = 0.8
const MAX_ATTEMPTS = 8
/** How long a group waits for its requests where nothing is under way. */
const GATHER_MS = 2

export interface WrittenGroup {
  events: number
  seconds: number
}

export interface GroupCommit {
  /**
   * Stores events. Answers once they are durable.
   * @param items of one sender, at least one
   * @returns an outcome per item, by position
   * @throws Problem overloaded; unavailable (then it is unknown whether they were kept: repeat with the same ids)
   */
  submit(items: Item[]): Promise<Outcome[]>
  /** Whether there is too much to do to begin with another request of this user: @throws Problem overloaded */
  refuseIfFull(userId: string): void
  /** Waits until nothing is waiting or being written. */
  drain(): Promise<void>
  readonly waiting: { readonly events: number; readonly characters: number }
}

/** A group that is under way. */
interface GroupInFlight {
  group: Submission[]
  items: Item[]
  /** On the clock of `performance`. */
  begunAt: number
  /** Undefined where it could not be sent in one trip; resolves with undefined where that failed. */
  answer: Promise<Outcome[] | undefined> | undefined
}

const nothing = (): undefined => undefined

/**
 * Group commit: requests that arrive while a transaction runs wait together and become the next one. There is one
 * transaction at a time (docs/decisions/0002). A group of what this server knows goes in one trip, which may be sent behind
 * another; any other goes the long way, alone (0010).
 */
export function createGroupCommit(
  writer: Writer,
  pipeline: Pipeline | undefined,
  options: AdmissionRules & {
    now: () => Date
    wrote?: (group: WrittenGroup) => void
    /** Brings batches back from the archive. */
    warm?: (batchKeys: readonly number[]) => Promise<void>
  },
): GroupCommit {
  const cache = createIngestCache()
  const pipelined = pipeline && createPipelinedWriter(pipeline, cache, { ...options, wake: writer.wake })
  const queue = createQueue()
  let writing: Promise<void> | null = null
  /** What large groups stored lately, and how long that took. Sums: two answers may come at one moment. */
  const lately = { events: PER_S_AT_FIRST, seconds: 1 }
  /** When the last group was over, on the clock of `performance`. */
  let overAt = 0
  const mostEvents = (): number => Math.max(BURST_EVENTS, (lately.events / lately.seconds) * MAX_WAITING_S)
  /** Events and characters that wait, by user. */
  const events = createFairShare(mostEvents)
  const characters = createFairShare(() => MAX_WAITING_CHARACTERS)

  function next(): Submission[] {
    const group = queue.take()
    for (const s of group) {
      events.giveBack(s.userId, s.items.length)
      characters.giveBack(s.userId, s.characters)
    }
    return group
  }

  /** Two groups at most are under way: one that the database works on, and one sent behind it. */
  async function writeAll(): Promise<void> {
    let first: GroupInFlight | undefined
    while (first !== undefined || queue.length > 0) {
      if (first === undefined) {
        await queue.gathered(GATHER_MS)
        first = await send(next())
      }
      const second = first.answer && (await follow(first.answer))
      await finish(first, second)
      // What could not be sent behind another may be sent now.
      first = second?.answer === undefined && second !== undefined ? await send(second.group) : second
    }
  }

  async function send(group: Submission[]): Promise<GroupInFlight> {
    const begunAt = performance.now()
    const items = group.flatMap((s) => s.items)
    try {
      return { group, items, begunAt, answer: (await pipelined?.send(items))?.answer }
    } catch (error) {
      const answer = Promise.reject(error)
      answer.catch(nothing)
      return { group, items, begunAt, answer }
    }
  }

  /** Sends a group behind the one that is under way, if it is there before that one is over. */
  async function follow(answer: Promise<unknown>): Promise<GroupInFlight | undefined> {
    const over = answer.then(nothing, nothing)
    return (await queue.gathered(over)) ? send(next()) : undefined
  }

  /** Gives a group its outcomes, written the long way if it has to be. */
  async function finish(
    { group, items, begunAt, answer }: GroupInFlight,
    second: GroupInFlight | undefined,
  ): Promise<void> {
    try {
      let outcomes = await answer
      if (outcomes === undefined) {
        // The long way takes the ids and the memory for itself. What was sent behind this group was not kept either.
        await second?.answer?.catch(nothing)
        outcomes = await write(items)
      }
      const now = performance.now()
      options.wrote?.({ events: items.length, seconds: (now - begunAt) / 1000 })
      if (items.length >= LARGE_GROUP) {
        lately.events = lately.events * FADE + items.length
        lately.seconds = lately.seconds * FADE + (now - Math.max(begunAt, overAt)) / 1000
      }
      answerAll(group, outcomes)
    } catch (error) {
      if (error instanceof ArchivedBatches) await writeOthers(group, error.batches)
      else if (isWorkerAway(writer.sql, error)) await writeByBatches(group, error)
      else for (const s of group) s.reject(error)
    }
    overAt = performance.now()
    queue.answered(group.length)
  }

  /** Requests with events of archived batches wait for these, without holding up those of others. */
  async function writeOthers(group: Submission[], archived: ReadonlyMap<string, number>): Promise<void> {
    const waits = (s: Submission): boolean =>
      s.items.some(({ checked }) => archived.has(checked.event.batch_id))
    for (const s of group.filter(waits)) {
      const keys = s.items.flatMap(({ checked }) => archived.get(checked.event.batch_id) ?? [])
      if (options.warm === undefined) s.reject(new Problem('archive_unreadable'))
      else void options.warm([...new Set(keys)]).then(() => enqueue(s), s.reject)
    }
    const others = group.filter((s) => !waits(s))
    if (others.length === 0) return
    try {
      answerAll(others, await write(others.flatMap((s) => s.items)))
    } catch (error) {
      if (error instanceof ArchivedBatches) await writeOthers(others, error.batches)
      else for (const s of others) s.reject(error)
    }
  }

  /** On a cluster, of which a worker is away: requests with events of other batches are not held up. */
  async function writeByBatches(group: Submission[], error: unknown): Promise<void> {
    const alike = new Map<string, Submission[]>()
    for (const s of group) {
      const ids = [...new Set(s.items.map(({ checked }) => checked.event.batch_id))].sort().join('\n')
      const own = alike.get(ids)
      if (own === undefined) alike.set(ids, [s])
      else own.push(s)
    }
    for (const own of alike.values()) {
      try {
        if (alike.size === 1) throw error
        answerAll(own, await write(own.flatMap((s) => s.items)))
      } catch (error) {
        if (error instanceof ArchivedBatches) await writeOthers(own, error.batches)
        else for (const s of own) s.reject(error)
      }
    }
  }

  function enqueue(submission: Submission): void {
    events.take(submission.userId, submission.items.length)
    characters.take(submission.userId, submission.characters)
    queue.push(submission)
    writing ??= writeAll().finally(() => {
      writing = null
    })
  }

  /** A value that the database refuses spoils its transaction: halves find it, and its neighbours are kept. */
  async function write(items: Item[]): Promise<Outcome[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { outcomes, remember } = await inSpan('ingest.commit', { 'svc.events': items.length }, () =>
          commit(writer, (tx) => applyGroup(tx, items, { ...options, cache })),
        )
        remember()
        return outcomes
      } catch (error) {
        const fault = databaseFault(error)
        const repeated = sqlStateOf(error) === '23505'
        if ((fault === 'retry' || repeated) && attempt < MAX_ATTEMPTS) continue
        if (fault === 'bad_value' && !repeated) {
          if (items.length === 1) return [{ problem: refusedByDatabase(error) }]
          const half = items.length >> 1
          return [...(await write(items.slice(0, half))), ...(await write(items.slice(half)))]
        }
        throw error
      }
    }
  }

  return {
    waiting: queue.waiting,
    submit(items) {
      const userId = itemAt(items, 0).sender.id
      const size = items.reduce((sum, i) => sum + i.checked.json.length, 0)
      if (characters.refuses(userId, size) || events.refuses(userId, items.length)) {
        return Promise.reject(new Problem('overloaded', { retryAfterS: 1 }))
      }
      return new Promise((resolve, reject) => {
        enqueue({ items, userId, characters: size, resolve, reject })
      })
    },
    refuseIfFull(userId) {
      if (events.refuses(userId, 1)) throw new Problem('overloaded', { retryAfterS: 1 })
    },
    async drain() {
      while (writing !== null) await writing
    },
  }
}

function answerAll(group: readonly Submission[], outcomes: readonly Outcome[]): void {
  let at = 0
  for (const s of group) {
    s.resolve(outcomes.slice(at, at + s.items.length))
    at += s.items.length
  }
}

const refusedByDatabase = (error: unknown): Problem =>
  new Problem('invalid_event_data', {
    detail: 'A value of the event cannot be stored',
    // What the database said names our tables, not the sender's fields.
    errors: [{ path: 'data', message: 'holds a value that cannot be stored' }],
    cause: error,
  })
