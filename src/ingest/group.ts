import { itemAt } from '../checked.ts'
import { recoverCommits } from '../db/cluster.ts'
import type { Pipeline } from '../db/pipeline.ts'
import { databaseFault, isWorkerUnreachable } from '../db/sql.ts'
import { sqlStateOf } from '../db/worker-errors.ts'
import { Problem } from '../problem.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { inSpan } from '../tracing.ts'
import type { AdmissionRules } from './admit.ts'
import { applyGroup } from './apply.ts'
import { createIngestCache, type IngestCache } from './cache.ts'
import { createLoadLimit } from './load-limit.ts'
import type { Item, Outcome } from './outcome.ts'
import { createPipelinedWriter, type PipelinedWriter } from './pipelined-write.ts'
import { createQueue, type Submission } from './queue.ts'
import { ArchivedBatches } from './state.ts'

const MAX_ATTEMPTS = 8
/** How long a group waits for further requests if no group is in flight. */
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
   * @throws Problem overloaded; unavailable (the events may or may not be stored: repeat with the same ids)
   */
  submit(items: Item[]): Promise<Outcome[]>
  /** Refuses a request before it is read: @throws Problem overloaded if this user has too much waiting work */
  refuseIfFull(userId: string): void
  /** Resolves once no event is waiting or being written. */
  drain(): Promise<void>
  readonly waiting: { readonly events: number; readonly characters: number }
}

/** A group that was taken from the queue and is not answered yet. */
interface GroupInFlight {
  group: Submission[]
  items: Item[]
  /** On the clock of `performance`. */
  begunAt: number
  /** Of the pipelined write. Undefined if there was none; resolves with undefined if it was rolled back. */
  answer: Promise<Outcome[] | undefined> | undefined
}

const nothing = (): undefined => undefined

interface GroupOptions extends AdmissionRules {
  now: () => Date
  /** Called after each group. */
  wrote?: (group: WrittenGroup) => void
  /** Restores batches from the archive. */
  restore?: (batchKeys: readonly number[]) => Promise<void>
}

/**
 * Group commit: requests that arrive while a transaction runs wait together and become the next one. There is one
 * transaction at a time (docs/decisions/0002). A group about cached state takes one round trip and may be sent before the
 * previous one is answered (pipelined-write.ts, decision 0010). Any other group is applied step by step, alone.
 */
export function createGroupCommit(
  writer: Writer,
  pipeline: Pipeline | undefined,
  options: GroupOptions,
): GroupCommit {
  return new Committer(writer, pipeline, options)
}

class Committer implements GroupCommit {
  readonly #writer: Writer
  readonly #options: GroupOptions
  readonly #pipelined: PipelinedWriter | undefined
  /** Applies a group step by step. */
  readonly #write: (items: Item[]) => Promise<Outcome[]>
  readonly #queue = createQueue()
  readonly #load = createLoadLimit()
  #writing: Promise<void> | null = null
  /** When the last group was answered, on the clock of `performance`. */
  #overAt = 0

  constructor(writer: Writer, pipeline: Pipeline | undefined, options: GroupOptions) {
    const cache = createIngestCache()
    this.#writer = writer
    this.#options = options
    this.#pipelined = pipeline && createPipelinedWriter(pipeline, cache, { ...options, wake: writer.wake })
    this.#write = createGroupWriter(writer, cache, options)
  }

  get waiting() {
    return this.#queue.waiting
  }

  submit(items: Item[]): Promise<Outcome[]> {
    const userId = itemAt(items, 0).sender.id
    const characters = items.reduce((sum, i) => sum + i.checked.json.length, 0)
    if (this.#load.refuses(userId, { events: items.length, characters })) {
      return Promise.reject(new Problem('overloaded', { retryAfterS: 1 }))
    }
    return new Promise((resolve, reject) => this.#enqueue({ items, userId, characters, resolve, reject }))
  }

  refuseIfFull(userId: string): void {
    if (this.#load.refuses(userId, { events: 1, characters: 0 })) {
      throw new Problem('overloaded', { retryAfterS: 1 })
    }
  }

  async drain(): Promise<void> {
    while (this.#writing !== null) await this.#writing
  }

  #enqueue(submission: Submission): void {
    this.#load.take(submission)
    this.#queue.push(submission)
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null
    })
  }

  #next(): Submission[] {
    const group = this.#queue.take()
    for (const submission of group) this.#load.giveBack(submission)
    return group
  }

  /** At most two groups are in flight: the database works on one, the other is sent behind it. */
  async #writeAll(): Promise<void> {
    let first: GroupInFlight | undefined
    while (first !== undefined || this.#queue.length > 0) {
      if (first === undefined) {
        await this.#queue.gathered(GATHER_MS)
        first = await this.#send(this.#next())
      }
      const second = first.answer && (await this.#follow(first.answer))
      await this.#finish(first, second)
      // What could not be sent behind another group may be sent now.
      first = second?.answer === undefined && second !== undefined ? await this.#send(second.group) : second
    }
  }

  async #send(group: Submission[]): Promise<GroupInFlight> {
    const begunAt = performance.now()
    const items = group.flatMap((s) => s.items)
    try {
      return { group, items, begunAt, answer: (await this.#pipelined?.send(items))?.answer }
    } catch (error) {
      const answer = Promise.reject(error)
      answer.catch(nothing)
      return { group, items, begunAt, answer }
    }
  }

  /** Sends a group behind the one in flight, if enough requests arrive before that one is answered. */
  async #follow(answer: Promise<unknown>): Promise<GroupInFlight | undefined> {
    const over = answer.then(nothing, nothing)
    return (await this.#queue.gathered(over)) ? this.#send(this.#next()) : undefined
  }

  /** Answers the requests of a group. Applies it step by step if it was not written through the pipeline. */
  async #finish(
    { group, items, begunAt, answer }: GroupInFlight,
    second: GroupInFlight | undefined,
  ): Promise<void> {
    try {
      let outcomes = await answer
      if (outcomes === undefined) {
        // `write` uses the ids and the cache alone. The group sent behind this one was rolled back as well.
        await second?.answer?.catch(nothing)
        outcomes = await this.#write(items)
      }
      const now = performance.now()
      this.#options.wrote?.({ events: items.length, seconds: (now - begunAt) / 1000 })
      this.#load.measure(items.length, (now - Math.max(begunAt, this.#overAt)) / 1000)
      answerAll(group, outcomes)
    } catch (error) {
      if (error instanceof ArchivedBatches) await this.#writeWithoutArchived(group, error.batches)
      else if (isWorkerUnreachable(this.#writer.sql, error)) await this.#writeByBatches(group, error)
      else for (const s of group) s.reject(error)
    }
    this.#overAt = performance.now()
    this.#queue.answered(group.length)
  }

  /** Requests about archived batches wait until these are restored; the others do not wait for them. */
  async #writeWithoutArchived(group: Submission[], archived: ReadonlyMap<string, number>): Promise<void> {
    const waits = (s: Submission): boolean =>
      s.items.some(({ checked }) => archived.has(checked.event.batch_id))
    for (const s of group.filter(waits)) {
      const keys = s.items.flatMap(({ checked }) => archived.get(checked.event.batch_id) ?? [])
      if (this.#options.restore === undefined) s.reject(new Problem('archive_unreadable'))
      else void this.#options.restore([...new Set(keys)]).then(() => this.#enqueue(s), s.reject)
    }
    const others = group.filter((s) => !waits(s))
    if (others.length > 0) await this.#writeAlone(others)
  }

  /** On a cluster with an unreachable worker: only requests about its batches fail. */
  async #writeByBatches(group: Submission[], error: unknown): Promise<void> {
    const byBatches = new Map<string, Submission[]>()
    for (const s of group) {
      const ids = [...new Set(s.items.map(({ checked }) => checked.event.batch_id))].sort().join('\n')
      byBatches.set(ids, [...(byBatches.get(ids) ?? []), s])
    }
    if (byBatches.size === 1) for (const s of group) s.reject(error)
    else for (const own of byBatches.values()) await this.#writeAlone(own)
  }

  /** Writes some requests of a group in a transaction of their own. */
  async #writeAlone(own: Submission[]): Promise<void> {
    try {
      answerAll(own, await this.#write(own.flatMap((s) => s.items)))
    } catch (error) {
      if (error instanceof ArchivedBatches) await this.#writeWithoutArchived(own, error.batches)
      else for (const s of own) s.reject(error)
    }
  }
}

/**
 * Writes a group step by step in a transaction of its own. A value that the database refuses aborts the transaction:
 * halving the group finds the event with it, and the others are stored.
 */
function createGroupWriter(writer: Writer, cache: IngestCache, options: GroupOptions) {
  return async function write(items: Item[]): Promise<Outcome[]> {
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
        if (attempt < MAX_ATTEMPTS && (await recoverCommits(writer.sql, error))) continue
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
    // The database's message names internal tables, not the sender's fields.
    errors: [{ path: 'data', message: 'holds a value that cannot be stored' }],
    cause: error,
  })
