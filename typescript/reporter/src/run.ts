/** A run: one batch of one or more jobs (specification §2). `log`, `epoch` and the like only queue; they never wait. */

import type { EventType } from './__generated__/events.ts'
import { type Counts, Delivery, type Line, type Store, unref } from './delivery.ts'
import { clean, plain, textOf } from './plain.ts'

export interface Options {
  project: string
  /** The service's address; Node: default SVC_URL. Without it, events are kept on disk (Node) or dropped. */
  url?: string
  /** A reporter token; Node: default SVC_TOKEN. */
  token?: string
  name?: string
  experimentType?: string
  /** How many jobs the run will have. */
  nTotal?: number
  batchId?: string
  config?: Record<string, unknown>
  tags?: string[]
  group?: string
  notes?: string
  /** The planned length of the job that `log` writes to, in steps; without it there is no ETA. */
  steps?: number
  /** What `log` and `epoch` do after a stop was requested: throw StopRequested (default), or only set `signal`. */
  stop?: 'throw' | 'signal'
  stopPollS?: number
  heartbeatS?: number
  /** Node only: how often processor and memory are recorded; 0 never. */
  resourcesS?: number
  queueSize?: number
  closeTimeoutS?: number
  /** Print nothing about the run. */
  quiet?: boolean
}

/** What the program runs in: Node or a browser. */
export interface Platform {
  url: string | undefined
  token: string | undefined
  /** Of the start: host, user, and what is known of the program. */
  source: Record<string, string>
  snapshot: Record<string, unknown>
  openStore(batchId: string, sender: string): Store | undefined
  /** One resource snapshot; none where there are no figures. */
  sample?: () => Record<string, unknown>
  print(text: string): void
  /** Calls the run's functions when the program ends. @returns a function that takes that back */
  watchEnd(run: Run): () => void
}

/** Thrown by `log` and `epoch` once a person has stopped the run. Let it end the training. */
export class StopRequested extends Error {
  override name = 'StopRequested'
  constructor() {
    super('stop_requested')
  }
}

const SCHEMA_VERSION = '1.1'
const EVENT_LIMIT = 256 * 1024
const KEPT = new Set<EventType>([
  'batch_start',
  'batch_done',
  'batch_failed',
  'job_start',
  'job_done',
  'job_failed',
])

export class Job {
  private readonly run: Run
  readonly id: string
  private readonly begun = Date.now()
  private next = 0
  private ended = false

  /** @internal */
  constructor(run: Run, id: string, params: Record<string, unknown>) {
    this.run = run
    this.id = id
    run.emit('job_start', id, params)
  }

  /** Values at an epoch or step; one that is missing is the one after the last. @throws StopRequested */
  epoch(values: Record<string, unknown>, step?: number): void {
    const epoch = step ?? this.next
    if (!Number.isSafeInteger(epoch)) {
      this.run.refuse(`step ${textOf(epoch)} is no whole number`)
      return
    }
    this.next = Math.max(this.next, epoch + 1)
    this.run.emit('job_epoch', this.id, { ...values, epoch })
    this.run.throwIfStopped()
  }

  log(line: string, level = 'info'): void {
    this.run.emit('log_line', this.id, { line: textLine(line), level: textOf(level).slice(0, 32) || 'info' })
  }

  /** Ends the job, with its final metrics. */
  done(metrics: Record<string, unknown> = {}): void {
    this.end('job_done', { metrics, elapsed_s: this.elapsedS() })
  }

  fail(error: unknown): void {
    this.end('job_failed', { ...failureOf(error), elapsed_s: this.elapsedS() })
  }

  /** @internal */
  elapsedS = (): number => (Date.now() - this.begun) / 1_000

  private end(type: 'job_done' | 'job_failed', data: Record<string, unknown>): void {
    if (this.ended) return
    this.ended = true
    this.run.emit(type, this.id, data)
    this.run.jobEnded(this, type === 'job_done')
  }
}

export class Run {
  private readonly options: Options
  private readonly platform: Platform
  readonly id: string
  /** Aborted once a stop was requested. */
  readonly signal: AbortSignal
  private readonly sender = hex(6)
  private readonly delivery: Delivery
  private readonly stopping = new AbortController()
  private readonly begun = Date.now()
  private readonly open = new Set<Job>()
  private readonly ended = { done: 0, failed: 0 }
  private readonly timers: ReturnType<typeof setInterval>[] = []
  private readonly said = new Set<string>()
  private readonly unwatch: () => void
  private main: Job | undefined
  private last: Job | undefined
  private ending: Promise<boolean> | undefined
  private count = 0

  /** @internal Use `init`. */
  constructor(options: Options, platform: Platform) {
    this.options = options
    this.platform = platform
    const { url = platform.url, token = platform.token } = options
    this.id = options.batchId || platform.source.batch || newBatchId(options.experimentType ?? 'train')
    this.signal = this.stopping.signal
    const base = url?.trim().replace(/\/+$/, '')
    const target = base && token ? { url: base, token } : undefined
    const store = platform.openStore(this.id, this.sender)
    this.delivery = new Delivery(target, options.queueSize ?? 10_000, store, (text) => this.refuse(text))
    this.emit('batch_start', null, this.startData())
    this.print(
      target
        ? `${base}/b/${encodeURIComponent(this.id)}`
        : 'SVC_URL or SVC_TOKEN is not set: nothing is sent',
    )
    this.every(options.heartbeatS ?? 300, () => this.emit('resource_snapshot', null, { heartbeat: true }))
    const { sample } = platform
    if (sample) this.every(options.resourcesS ?? 30, () => this.emit('resource_snapshot', null, sample()))
    if (target) this.every(options.stopPollS ?? 10, () => this.askForStop(target.url, target.token))
    this.unwatch = platform.watchEnd(this)
  }

  /** Values of the run's own job, or a line of its log. @throws StopRequested */
  log(values: Record<string, unknown> | string, options: { step?: number; level?: string } = {}): void {
    if (typeof values === 'string') (this.last ?? this.mainJob()).log(values, options.level)
    else this.mainJob().epoch(values, options.step)
  }

  /** A job of its own, such as one seed of a sweep. */
  job(id: string, params: Record<string, unknown> = {}): Job {
    const job = new Job(this, clean(id).slice(0, 128) || 'job', params)
    this.open.add(job)
    this.last = job
    return job
  }

  get stopRequested(): boolean {
    return this.signal.aborted
  }

  /** What became of the events so far. */
  get counts(): Readonly<Counts> {
    return { ...this.delivery.counts }
  }

  /** Waits until the service has every event so far. @returns false after `timeoutS`, or if it is away */
  flush(timeoutS = 10): Promise<boolean> {
    return this.delivery.flush(timeoutS * 1_000)
  }

  /**
   * Ends the run: with an error as failed, after a stop as stopped. Waits until everything is sent, `closeTimeoutS` at
   * most; the rest stays on disk. @returns whether the service has everything
   */
  finish(error?: unknown): Promise<boolean> {
    this.ending ??= this.end(error)
    return this.ending
  }

  private async end(error: unknown): Promise<boolean> {
    const deadline = Date.now() + (this.options.closeTimeoutS ?? 10) * 1_000
    this.endJobs(error)
    await this.delivery.flush((deadline - Date.now()) * 0.7)
    this.putEnd(error)
    const complete = await this.delivery.flush(deadline - Date.now())
    this.close()
    const { spilled } = this.counts
    this.print(complete ? 'finished' : `finished, ${spilled} events wait on disk`)
    return complete
  }

  /** @internal Ends the run without waiting: events that are not sent stay on disk; a page sends them at last. */
  endNow(error: unknown): void {
    if (this.ending !== undefined) {
      this.delivery.stop()
      return
    }
    this.ending = Promise.resolve(false)
    this.endJobs(error)
    this.putEnd(error)
    this.delivery.sendAtLast()
    this.close()
  }

  /** @internal */
  jobEnded(job: Job, well: boolean): void {
    this.open.delete(job)
    this.ended[well ? 'done' : 'failed']++
  }

  /** @internal Queues an event; never throws. */
  emit(type: EventType, jobId: string | null, data: Record<string, unknown>): void {
    const line = this.lineOf(type, jobId, data)
    if (line === undefined) {
      this.delivery.lost()
      this.refuse(`an event of type ${type} is over ${EVENT_LIMIT / 1024} KiB and is dropped`)
    } else this.delivery.put(line)
  }

  /** @internal Prints a text once. */
  refuse(text: string): void {
    if (this.said.has(text) || this.said.size >= 100) return
    this.said.add(text)
    this.platform.print(`svc: ${text}`)
  }

  /** @internal */
  throwIfStopped(): void {
    if (this.stopRequested && this.options.stop !== 'signal' && this.ending === undefined)
      throw new StopRequested()
  }

  private mainJob(): Job {
    const { config = {}, steps } = this.options
    const params = Object.entries(config).filter(([, value]) => value === null || typeof value !== 'object')
    this.main ??= this.job('main', {
      ...Object.fromEntries(params),
      step_unit: 'step',
      ...(steps && { epochs: steps }),
    })
    return this.main
  }

  private startData(): Record<string, unknown> {
    const { experimentType = 'train', nTotal = 1, name, config, tags, group, notes } = this.options
    const given = { name, config, tags, group, notes }
    const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    return {
      experiment_type: experimentType,
      n_total: nTotal,
      env_snapshot: this.platform.snapshot,
      ...known,
    }
  }

  private endJobs(error: unknown): void {
    for (const job of [...this.open]) {
      if (error === undefined && !this.stopRequested) job.done()
      else job.fail(error ?? new StopRequested())
    }
  }

  private putEnd(error: unknown): void {
    const shared = {
      total_elapsed_s: (Date.now() - this.begun) / 1_000,
      n_done: this.ended.done,
      n_failed: this.ended.failed,
    }
    // The counts are those before this event, which is one more.
    const { produced, ...counts } = this.counts
    const delivery = { sender: this.sender, produced: produced + 1, ...counts }
    const failed = error !== undefined || this.stopRequested
    if (failed)
      this.emit('batch_failed', null, { ...failureOf(error ?? new StopRequested()), ...shared, delivery })
    else this.emit('batch_done', null, { ...shared, delivery })
  }

  private close(): void {
    for (const timer of this.timers) clearInterval(timer)
    this.unwatch()
    this.delivery.stop()
  }

  private print(text: string): void {
    if (!this.options.quiet) this.platform.print(`svc: run ${this.options.name ?? this.id}: ${text}`)
  }

  private every(seconds: number, action: () => void): void {
    if (!(seconds > 0)) return
    const timer = setInterval(action, seconds * 1_000)
    unref(timer)
    this.timers.push(timer)
  }

  private async askForStop(url: string, token: string): Promise<void> {
    if (this.delivery.isRefused) return
    const answer = await fetch(`${url}/api/batches/${encodeURIComponent(this.id)}/stop-requested`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    }).catch(() => undefined)
    const body = (await answer?.json().catch(() => undefined)) as { stop_requested?: unknown } | undefined
    if (answer?.status === 200 && body?.stop_requested === true) this.stopping.abort(new StopRequested())
  }

  private lineOf(type: EventType, jobId: string | null, data: Record<string, unknown>): Line | undefined {
    const { host, ...source } = this.platform.source
    const event = {
      event_id: this.newEventId(),
      schema_version: SCHEMA_VERSION,
      event_type: type,
      timestamp: new Date().toISOString(),
      batch_id: this.id,
      job_id: jobId,
      source: { project: this.options.project, ...(host && { host }), ...(type === 'batch_start' && source) },
      data: plain(data),
    }
    const text = JSON.stringify(event)
    return text.length * 3 > EVENT_LIMIT && new TextEncoder().encode(text).length > EVENT_LIMIT
      ? undefined
      : { text, kept: KEPT.has(type) }
  }

  /** A UUIDv7 whose last 12 digits name this process, so that the service compares its counts with what is stored. */
  private newEventId(): string {
    const ms = Date.now().toString(16).padStart(12, '0')
    this.count = (this.count + 1) & 0xfff
    const random = (0x8000 | (Math.random() * 0x4000)).toString(16)
    return `${ms.slice(0, 8)}-${ms.slice(8)}-7${this.count.toString(16).padStart(3, '0')}-${random}-${this.sender}`
  }
}

const textLine = (line: unknown): string =>
  (typeof line === 'string' ? clean(line) : textOf(line)).slice(0, 60_000)

function failureOf(error: unknown): { reason: string; traceback?: string } {
  if (error instanceof StopRequested) return { reason: 'stop_requested' }
  if (!(error instanceof Error)) return { reason: textOf(error) || 'failed' }
  const stack = typeof error.stack === 'string' ? clean(error.stack).slice(0, 20_000) : undefined
  return { reason: `${textOf(error.name)}: ${textOf(error.message)}`, ...(stack && { traceback: stack }) }
}

const hex = (bytes: number): string =>
  [...crypto.getRandomValues(new Uint8Array(bytes))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')

/** A readable id that sorts by time: `train-20260131-120000-3fa9c1`. */
function newBatchId(experimentType: string): string {
  const word = experimentType.replace(/[^\w-]/g, '-').slice(0, 40) || 'run'
  const [day = '', time = ''] = new Date().toISOString().split('T')
  return `${word}-${day.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}-${hex(3)}`
}
