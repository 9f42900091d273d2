import type { WriteStream } from 'node:tty'
import { type LogFn, type Logger, pino } from 'pino'
import type { Config } from './config.ts'
import { addressOf } from './db/address.ts'
import { createPing, isTimeLimit } from './db/ping.ts'
import { databaseFault, isShutDown } from './db/sql.ts'
import { textOf } from './log-text.ts'
import { passwordsIn, scrub } from './secrets.ts'
import { codeOf, fieldOf, messageOf } from './thrown.ts'

/** The service pings the database after this long without a new fault. */
const QUIET_MS = 2_000
const POLL_MS = 500
const PING_TIMEOUT_MS = 3_000
/** A fail-over takes less; an outage that lasts longer needs a person. */
const PERSON_AFTER_MS = 60_000

/** The availability of the database, judging by the faults that are logged. */
export interface Outages {
  /** Whether the last fault said that the database is unreachable, out of resources or shutting down. */
  readonly unavailable: boolean
  /** The number of outages, and of faults during them. */
  readonly counts: { outages: number; faults: number }
}

export interface ServiceLog {
  log: Logger
  outages: Outages
  /**
   * Starts to ping the database during outages. `url` is its URL.
   * @returns a function that ends this
   */
  watch(url: string, ping: () => Promise<unknown>): () => void
}

/**
 * The log (docs/operations.md "Logs"): lines without secrets, as JSON or as text. An unavailable database makes
 * everything fail at once, so an outage is logged once when it starts and once when it ends; the faults in between are
 * counted. The level `error` means that a person must act.
 */
export function createLog(
  config: Pick<
    Config,
    | 'logLevel'
    | 'logFormat'
    | 'databaseUrl'
    | 'replica'
    | 'smtp'
    | 'identityProviders'
    | 'encryptionKey'
    | 'backupPassphrase'
  >,
  to: NodeJS.WritableStream,
): ServiceLog {
  const secrets = [
    ...passwordsIn(config.databaseUrl, config.replica?.url, config.smtp?.url),
    ...config.identityProviders.flatMap(({ clientSecret }) => clientSecret ?? []),
    ...[config.encryptionKey, config.backupPassphrase].filter((secret) => secret !== undefined),
  ]
  const isText =
    config.logFormat === 'text' ||
    (config.logFormat === 'auto' && (to as Partial<WriteStream>).isTTY === true)
  const log: Logger = pino(
    {
      level: config.logLevel,
      redact: { paths: ['req.headers.authorization', 'req.headers.cookie'], remove: true },
      serializers: { err: describe },
      hooks: {
        logMethod(args: Parameters<LogFn>, method: LogFn) {
          const fault = outages.faultIn(args[0])
          if (fault === undefined) method.apply(this, args)
          else outages.note(fault)
        },
        streamWrite: (line) => (isText ? textOf(scrub(line, secrets)) : scrub(line, secrets)),
      },
    },
    to,
  )
  const outages = new OutageMonitor(log)
  return {
    log,
    outages,
    watch(url, ping) {
      secrets.push(...passwordsIn(url))
      return outages.watch(url, ping)
    },
  }
}

/** Notices from logged faults that the database is unavailable, and pings it until it is available again. */
class OutageMonitor implements Outages {
  readonly counts = { outages: 0, faults: 0 }
  readonly #log: Logger
  #unavailable = false
  #doubting = false
  /** When the outage began, and when its last fault was logged, on the clock of `performance`. */
  #since = 0
  #last = 0
  #needsPerson = false
  #ping: (() => Promise<unknown>) | undefined
  #timer: NodeJS.Timeout | undefined
  #ports: number[] = []

  constructor(log: Logger) {
    this.#log = log
  }

  get unavailable() {
    return this.#unavailable
  }

  watch(url: string, ping: () => Promise<unknown>): () => void {
    this.#ports = addressOf(url).hosts.map(({ port }) => port)
    this.#ping = createPing(ping, PING_TIMEOUT_MS)
    return () => {
      this.#ping = undefined
      this.#stopPinging()
    }
  }

  /**
   * Finds the error of an unavailable database in what is logged. Errors of other servers (by port, or SMTP) do not
   * count.
   */
  faultIn(what: unknown): unknown {
    if (typeof what !== 'object' || what === null) return undefined
    const error = what instanceof Error ? what : fieldOf(what, 'err')
    for (let at = error; at instanceof Error; at = at.cause) {
      const [itsPort, command] = [fieldOf(at, 'port'), fieldOf(at, 'command')]
      const another =
        typeof command === 'string' || (typeof itsPort === 'number' && !this.#ports.includes(itsPort))
      if (databaseFault(at) === 'unavailable' && !another) return at
    }
    return undefined
  }

  note(fault: unknown): void {
    if (isShutDown(fault)) return
    this.counts.faults++
    this.#last = performance.now()
    if (this.#unavailable) return
    if (fault instanceof Error && isTimeLimit(fault) && this.#ping !== undefined) void this.#doubt(fault)
    else this.#declare(fault, this.#last)
  }

  /** A time limit that passed is an outage only if a ping fails as well. */
  async #doubt(fault: Error): Promise<void> {
    if (this.#doubting) return
    this.#doubting = true
    const since = performance.now()
    const answers = await this.#answers()
    this.#doubting = false
    if (this.#ping === undefined) return
    if (answers) this.#log.info({ reason: fault.message }, 'a time limit passed, but the database answers')
    else if (!this.#unavailable) this.#declare(fault, since)
  }

  #declare(fault: unknown, since: number): void {
    this.#unavailable = true
    this.#needsPerson = false
    this.#since = since
    this.counts.outages++
    this.#log.warn(
      { code: codeOf(fault), reason: messageOf(fault) },
      'the database cannot be used; requests are answered with 503 until it can',
    )
    this.#timer ??= setInterval(() => void this.#ask(), POLL_MS).unref()
  }

  async #answers(): Promise<boolean> {
    return (
      this.#ping?.().then(
        () => true,
        () => false,
      ) ?? false
    )
  }

  async #ask(): Promise<void> {
    this.#callPerson()
    if (!this.#unavailable || this.#ping === undefined || performance.now() - this.#last < QUIET_MS) return
    const asked = this.#last
    if (!(await this.#answers()) || !this.#unavailable || this.#last !== asked) return
    this.#unavailable = false
    this.#stopPinging()
    const seconds = Math.round((performance.now() - this.#since) / 1000)
    this.#log.info({ seconds, faults: this.counts.faults }, 'the database can be used again')
  }

  #callPerson(): void {
    const seconds = Math.round((performance.now() - this.#since) / 1000)
    if (!this.#unavailable || this.#needsPerson || seconds < PERSON_AFTER_MS / 1000) return
    this.#needsPerson = true
    this.#log.error({ seconds }, 'the database still cannot be used: svc doctor names the reason')
  }

  #stopPinging(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Omits the properties in which the database quotes rows and parameters. */
function describe(error: Error): unknown {
  const { detail, where, query, parameters, args, ...rest } = pino.stdSerializers.err(error) as Record<
    string,
    unknown
  >
  return rest
}
