/**
 * Sends events in their order, at most 500 a request. While the service is away they wait: in a store (Node: a file),
 * else in the queue. What each answer means is the table of specification §7.
 */

/** Counts of the events of this process. All that were produced are accepted, duplicate, dropped, rejected or waiting. */
export interface Counts {
  produced: number
  accepted: number
  duplicate: number
  /** On disk, to be sent. */
  spilled: number
  dropped: number
  /** Refused for a reason that a user can fix: token, rights, project. */
  rejected: number
}

/** One event as a line of JSON. */
export interface Line {
  text: string
  /** Starts and ends, which an overflow of the queue keeps. */
  kept: boolean
}

/** Where events wait that cannot be sent. Its methods do not throw. */
export interface Store {
  /** @returns whether the lines were written */
  append(lines: string[]): boolean
  /** The first lines that were not sent, at most so many. */
  first(limit: number): string[]
  /** Forgets so many of the first lines. */
  sent(count: number): void
  /** Keeps lines that the service refused. */
  reject(lines: string[]): void
}

export interface Target {
  url: string
  token: string
}

const ARRAY_LIMIT = 500
const ARRAY_CHARACTERS = 2_000_000
const ROUND_MS = 50
const REQUEST_MS = 10_000
const BACKOFF_MS = [100, 300, 1_000]
const PROBE_MS = [10_000, 20_000, 30_000]
const REFUSALS = 3
const RETRY_AFTER_S = { normal: 30, most: 60 }

type Verdict = 'settled' | 'retry' | 'refused' | { waitMs: number } | 'split'

export class Delivery {
  private readonly target: Target | undefined
  private readonly queueSize: number
  private readonly store: Store | undefined
  private readonly warn: (text: string) => void
  readonly counts: Counts = { produced: 0, accepted: 0, duplicate: 0, spilled: 0, dropped: 0, rejected: 0 }
  private readonly queue: Line[] = []
  private timer: ReturnType<typeof setTimeout> | undefined
  private working: Promise<void> | undefined
  private limit = ARRAY_LIMIT
  /** How many of the first lines of the queue are in the request that is under way. */
  private inFlight = 0
  /** Attempts without an answer in a row; over three of them, the service is away. */
  private failures = 0
  private refusals = 0
  private notBefore = 0

  constructor(
    target: Target | undefined,
    queueSize: number,
    store: Store | undefined,
    warn: (text: string) => void,
  ) {
    this.target = target
    this.queueSize = queueSize
    this.store = store
    this.warn = warn
  }

  put(line: Line): void {
    this.counts.produced++
    this.queue.push(line)
    if (this.queue.length > this.queueSize) this.overflow()
    this.wake(ROUND_MS)
  }

  /** Counts a report that could not become an event. */
  lost(): void {
    this.counts.produced++
    this.counts.dropped++
  }

  get isRefused(): boolean {
    return this.refusals >= REFUSALS
  }

  /** Waits until everything is sent. @returns false after `timeoutMs`, or when the service is away */
  async flush(timeoutMs: number): Promise<boolean> {
    const end = Date.now() + timeoutMs
    this.notBefore = 0
    while (this.target !== undefined && this.waiting > 0 && Date.now() < end && !this.isRefused) {
      await within(this.start(), end - Date.now())
      const pause = this.notBefore - Date.now()
      if (this.failures > BACKOFF_MS.length || pause >= end - Date.now()) break
      if (pause > 0) await sleep(pause)
    }
    return this.waiting === 0
  }

  /** Ends the timers, and keeps on disk what is not sent. For the end of the process: nothing here waits. */
  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.inFlight = 0
    this.spill()
  }

  /** Without a disk: sends the queue with a request that outlives the page, of at most 60 kB. */
  sendAtLast(): void {
    if (this.store !== undefined) return
    const rest: string[] = []
    for (let size = 0; this.queue.length > 0; size += this.queue[0]?.text.length ?? 0) {
      if (size + (this.queue[0]?.text.length ?? 0) > 60_000) break
      rest.push(this.queue.shift()?.text ?? '')
    }
    if (rest.length > 0) this.post(rest, { keepalive: true }).catch(() => undefined)
  }

  private get waiting(): number {
    return this.queue.length + this.counts.spilled
  }

  private wake(afterMs: number): void {
    if (this.timer !== undefined || this.working !== undefined) return
    this.timer = setTimeout(
      () => {
        this.timer = undefined
        this.start().catch(() => undefined)
      },
      Math.max(afterMs, 0),
    )
    unref(this.timer)
  }

  private start(): Promise<void> {
    this.working ??= this.work().finally(() => {
      this.working = undefined
      if (this.waiting > 0 && this.target !== undefined && !this.isRefused)
        this.wake(this.notBefore - Date.now())
    })
    return this.working
  }

  /** Sends until nothing is left, or until an answer asks for a pause. */
  private async work(): Promise<void> {
    if (this.target === undefined || this.isRefused) this.spill()
    else while (this.waiting > 0 && Date.now() >= this.notBefore && (await this.step())) {}
    // In a pause new events go to the disk, where more of them have room.
    if (Date.now() < this.notBefore && this.failures > BACKOFF_MS.length) this.spill()
  }

  /** One request. @returns whether the next may follow at once */
  private async step(): Promise<boolean> {
    const stored = this.counts.spilled > 0 ? (this.store?.first(this.limit) ?? []) : []
    if (stored.length === 0) this.counts.spilled = 0 // another process, such as `svc-reporter sync`, took the file
    const part = fitting(stored.length > 0 ? stored : this.queue.slice(0, this.limit).map(({ text }) => text))
    if (part.length === 0) return false
    this.inFlight = stored.length > 0 ? 0 : part.length
    const verdict = await this.post(part).catch((): Verdict => 'retry')
    this.inFlight = 0
    if (verdict === 'split') {
      this.limit = Math.max(1, Math.floor(part.length / 2))
      return true
    }
    if (verdict !== 'settled') return this.pause(verdict)
    this.failures = this.refusals = 0
    this.limit = ARRAY_LIMIT
    if (stored.length > 0) {
      this.store?.sent(part.length)
      this.counts.spilled -= part.length
    } else this.queue.splice(0, part.length)
    return true
  }

  private pause(verdict: 'retry' | 'refused' | { waitMs: number }): false {
    if (typeof verdict === 'object') {
      this.notBefore = Date.now() + verdict.waitMs
      return false
    }
    this.refusals = verdict === 'refused' ? this.refusals + 1 : 0
    this.failures = verdict === 'refused' ? BACKOFF_MS.length + 1 : this.failures + 1
    const probe = PROBE_MS[Math.min(this.failures - BACKOFF_MS.length, PROBE_MS.length) - 1]
    this.notBefore = Date.now() + (BACKOFF_MS[this.failures - 1] ?? probe ?? 30_000)
    if (this.isRefused)
      this.warn('the service does not accept the token; events are kept, and nothing more is sent')
    else if (this.failures === BACKOFF_MS.length + 1)
      this.warn('the service cannot be reached; events wait until it can')
    return false
  }

  private async post(part: string[], options: RequestInit = {}): Promise<Verdict> {
    const { url, token } = this.target ?? { url: '', token: '' }
    const answer = await fetch(`${url}/api/events/batch`, {
      method: 'POST',
      body: `[${part.join(',')}]`,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-svc-sent-at': new Date().toISOString(),
        'x-svc-sender': 'event-id',
      },
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_MS),
      ...options,
    })
    const body = await answer.json().catch(() => undefined)
    return answer.status === 200 ? this.record(part, body) : this.refusal(answer, body, part)
  }

  /** Counts the results of an array. A result that may be better later has the whole array sent again. */
  private record(part: string[], body: { results?: unknown } | undefined): Verdict {
    const results = Array.isArray(body?.results) ? (body.results as Result[]) : []
    if (results.length !== part.length) return 'retry' // not the service: a proxy or a sign-in page
    const fates = results.map(fateOf)
    if (fates.includes('retry')) return 'retry'
    fates.forEach((fate, i) => {
      this.settle(fate, part[i] ?? '', results[i]?.error)
    })
    return 'settled'
  }

  private refusal(answer: Response, body: unknown, part: string[]): Verdict {
    const { status } = answer
    if (status === 429) return { waitMs: retryAfterMs(answer) }
    const code = (body as { code?: unknown } | undefined)?.code
    const ours = typeof code === 'string'
    if (status >= 500 || status < 400 || status === 408 || status === 425 || !ours) return 'retry'
    if (status === 401) return 'refused'
    const fate = fateOf({ error: { status, code } })
    if (fate === 'dropped' && part.length > 1) return 'split'
    for (const text of part) this.settle(fate, text, { status, code })
    return 'settled'
  }

  private settle(fate: Fate, text: string, error: Result['error']): void {
    if (fate === 'retry') return
    this.counts[fate]++
    if (fate === 'rejected') this.store?.reject([text])
    if (error) this.warn(`the service refused an event: ${error.status} ${error.code}: ${error.detail ?? ''}`)
  }

  /** Moves the queue to the disk; without one it stays, and `put` keeps it bounded. */
  private spill(): void {
    const lines = this.queue.slice(this.inFlight).map(({ text }) => text)
    if (lines.length === 0 || this.store === undefined) return
    if (this.isRefused) {
      this.store.reject(lines)
      this.counts.rejected += lines.length
    } else if (this.store.append(lines)) this.counts.spilled += lines.length
    else return
    this.queue.length = this.inFlight
  }

  /** The queue is full: to the disk with it, or else the oldest event that is no start or end is lost. */
  private overflow(): void {
    this.spill()
    if (this.queue.length <= this.queueSize) return
    const oldest = this.queue.findIndex(({ kept }, i) => !kept && i >= this.inFlight)
    this.queue.splice(oldest < 0 ? this.queue.length - 1 : oldest, 1)
    this.counts.dropped++
    this.warn(`the queue of ${this.queueSize} events is full; the oldest are lost`)
  }
}

interface Result {
  deduplicated?: boolean
  error?: { status?: number; code?: unknown; detail?: string } | undefined
}
type Fate = 'accepted' | 'duplicate' | 'dropped' | 'rejected' | 'retry'

function fateOf({ deduplicated, error }: Result): Fate {
  if (!error) return deduplicated ? 'duplicate' : 'accepted'
  const { status = 0, code } = error
  if (status >= 500 || status === 408 || status === 429) return 'retry'
  return [401, 403, 404].includes(status) || code === 'batch_project_mismatch' ? 'rejected' : 'dropped'
}

/** As many of the first lines as fit into a body; at least one. */
function fitting(lines: string[]): string[] {
  let size = 0
  const over = lines.findIndex((line, i) => {
    size += line.length
    return size > ARRAY_CHARACTERS && i > 0
  })
  return over < 0 ? lines : lines.slice(0, over)
}

/** Specification §8: the header's seconds, 30 without it, at most 60. */
function retryAfterMs(answer: Response): number {
  const header = answer.headers.get('retry-after')?.trim()
  const seconds = header ? Number(header) : RETRY_AFTER_S.normal
  const known = Number.isFinite(seconds) ? seconds : RETRY_AFTER_S.normal
  return Math.min(Math.max(known, 0), RETRY_AFTER_S.most) * 1_000
}

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, Math.max(0, ms)))

/** Waits for the work, but no longer than that; it leaves no timer behind, which would keep the program alive. */
function within(work: Promise<void>, ms: number): Promise<void> {
  return new Promise((done) => {
    const limit = setTimeout(done, Math.max(0, ms))
    work.finally(() => clearTimeout(limit)).then(done, done)
  })
}

/** In Node, lets the program end while a timer waits. */
export function unref(timer: unknown): void {
  ;(timer as { unref?: () => void }).unref?.()
}
