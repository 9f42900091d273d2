import type { Client, Connection } from 'pg'
import { fieldOf } from '../thrown.ts'
import { inSpan } from '../tracing.ts'
import type { CopyRows } from './copy.ts'
import { PrimaryClient } from './hosts.ts'
import { IDLE_CONNECTION_S, SESSION } from './sql.ts'

/**
 * Runs several statements in one round trip, as one transaction: the server commits or rolls back everything that was
 * sent before one Sync. postgres.js waits for an answer after every statement, so this uses `pg`, whose custom queries
 * may write any messages to the connection.
 */
export interface Step {
  /** Steps with the same name have the same text. */
  name: string
  text: string
  values: readonly string[]
  /** The rows of a COPY. */
  rows?: CopyRows
}

export type Row = readonly (string | null)[]

export interface Pipeline {
  /**
   * Whether there is a connection, and fewer than two pipelines are in flight. If the connection was closed because it was
   * idle, asking opens another one.
   */
  readonly ready: boolean
  /**
   * At most two run at a time: the second is sent at once, and the server starts it when the first is committed or
   * rolled back.
   * @returns the rows of each step, as text
   * @throws the server's error, after which nothing is stored; or CONNECTION_CLOSED, after which the outcome is unknown
   */
  run(steps: readonly Step[]): Promise<Row[][]>
  end(): Promise<void>
}

const RETRY_MS = 500
const CONNECT_TIMEOUT_MS = 10_000
/** Pipelines in flight. While the server works on one, the next is already in its receive buffer. */
const MAX_IN_FLIGHT = 2

/** Connects, and reconnects whenever the connection is lost. While it is not ready, callers use another connection. */
export function openPipeline(
  url: string,
  options: { name: string; settings?: Record<string, string>; idleMs?: number },
): Pipeline {
  const { idleMs = IDLE_CONNECTION_S * 1000 } = options
  let client: Client | null = null
  /** The protocol connection of the client, known once it has run a pipeline. */
  let protocol: Connection | undefined
  let prepared = new Map<string, string>()
  let names = 0
  let inFlight = 0
  let ended = false
  let timer: NodeJS.Timeout | undefined
  let idleTimer: NodeJS.Timeout | undefined
  /** Whether there is no connection because nothing needed one. */
  let resting = false

  /** Closes the connection unless it is used within `idleMs`. */
  function restLater(): void {
    clearTimeout(idleTimer)
    idleTimer = setTimeout(() => {
      if (client === null || inFlight > 0) return
      const idle = client
      client = null
      resting = true
      idle.end().catch(() => {})
    }, idleMs)
    idleTimer.unref()
  }

  async function open(): Promise<void> {
    const opening = new PrimaryClient({
      connectionString: url,
      name: options.name,
      settings: { ...SESSION, ...options.settings },
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    })
    let lossHandled = false
    let wasOpen = false
    // An `error` event, an `end` event and a failed connect can all report the same loss; it is handled once.
    const lost = (): void => {
      if (client === opening) client = null
      else if (wasOpen) return
      if (lossHandled || ended) return
      lossHandled = true
      timer = setTimeout(() => {
        connecting = open()
      }, RETRY_MS)
      timer.unref()
    }
    opening.on('error', lost)
    opening.on('end', lost)
    try {
      await opening.connect()
      prepared = new Map()
      protocol = undefined
      if (ended) await opening.end()
      else {
        client = opening
        wasOpen = true
        restLater()
      }
    } catch {
      lost()
    }
  }
  let connecting = open()

  return {
    get ready() {
      if (resting && !ended) {
        resting = false
        connecting = open()
      }
      // The caller is about to use it.
      if (client !== null) restLater()
      return client !== null && inFlight < MAX_IN_FLIGHT
    },
    async run(steps) {
      if (client === null || inFlight >= MAX_IN_FLIGHT) throw closed(undefined)
      inFlight++
      const newlyPrepared: string[] = []
      const submission = createSubmission(
        steps.map((step) => {
          const known = prepared.get(step.name)
          if (known !== undefined) return { ...step, name: known, prepare: false }
          const name = `step_${++names}`
          prepared.set(step.name, name)
          newlyPrepared.push(step.name)
          return { ...step, name, prepare: true }
        }),
        (connection) => {
          protocol = connection
        },
      )
      try {
        // Both calls in the same tick, so that pipelines are sent in the order in which `pg` assigns their answers.
        if (protocol !== undefined) submission.send(protocol)
        client.query(submission)
        return await inSpan(
          `${options.name}.commit`,
          { 'db.statements': steps.length },
          () => submission.done,
        )
      } catch (error) {
        // Some statements may not have been prepared. Those that were stay prepared under names that are not used
        // again.
        for (const name of newlyPrepared) prepared.delete(name)
        throw fieldOf(error, 'severity') === undefined ? closed(error) : error
      } finally {
        inFlight--
        if (inFlight === 0) restLater()
      }
    },
    async end() {
      ended = true
      clearTimeout(timer)
      clearTimeout(idleTimer)
      await connecting
      await client?.end()
    },
  }
}

const closed = (cause: unknown): Error =>
  Object.assign(new Error('The connection to the database was lost', { cause }), {
    code: 'CONNECTION_CLOSED',
  })

/**
 * A custom query as `pg` expects it; `pg` calls these methods as answers arrive. `pg` submits a query only when the
 * previous one is done; to send it earlier, call `send`. (The pipeline mode of `pg` does not accept custom queries.)
 */
function createSubmission(
  steps: readonly (Step & { prepare: boolean })[],
  submitted: (connection: Connection) => void,
) {
  const rows: Row[][] = [[]]
  let sent = false
  let failed = false
  let resolve: (rows: Row[][]) => void
  let reject: (error: Error) => void
  const done = new Promise<Row[][]>((yes, no) => {
    resolve = yes
    reject = no
  })
  return {
    done,
    submit(connection: Connection) {
      submitted(connection)
      if (!sent) this.send(connection)
    },
    send(connection: Connection) {
      sent = true
      connection.stream.cork()
      for (const { name, text, values, prepare, rows } of steps) {
        if (prepare) connection.parse({ name, text, types: [] }, true)
        connection.bind({ statement: name, values: values as string[] }, true)
        connection.execute({}, true)
        rows?.send(connection)
      }
      connection.sync()
      connection.stream.uncork()
    },
    handleRowDescription() {},
    handleDataRow({ fields }: { fields: Row }) {
      ;(rows.at(-1) as Row[]).push(fields)
    },
    handleCommandComplete() {
      rows.push([])
    },
    handlePortalSuspended() {},
    handleEmptyQuery() {},
    handleCopyInResponse() {},
    handleCopyData() {},
    handleError(error: Error) {
      failed = true
      reject(error)
    },
    handleReadyForQuery() {
      if (!failed) resolve(rows)
    },
  }
}
