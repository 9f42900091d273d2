import type { Client, Connection } from 'pg'
import { fieldOf } from '../thrown.ts'
import { inSpan } from '../tracing.ts'
import type { CopyRows } from './copy.ts'
import { PrimaryClient } from './hosts.ts'

/**
 * Several statements in one trip to the database and back, as one transaction: what goes to the server before one
 * Sync is committed by it, or rolled back whole. postgres.js asks for an answer after every statement, so this uses
 * `pg`, whose queries may write what they like to its connection.
 */
export interface Step {
  /** Steps of one name have one text. */
  name: string
  text: string
  values: readonly string[]
  /** Of a COPY: what it brings. */
  rows?: CopyRows
}

export type Row = readonly (string | null)[]

export interface Pipeline {
  /** Whether there is a connection, and room on its way for another trip. */
  readonly ready: boolean
  /**
   * Two at a time: the second is sent at once, and begun by the server when the first is over, kept or not.
   * @returns the rows of each step, as text
   * @throws what the server said, and then nothing was kept; or CONNECTION_CLOSED, and then that is unknown
   */
  run(steps: readonly Step[]): Promise<Row[][]>
  end(): Promise<void>
}

const RETRY_MS = 500
const CONNECT_TIMEOUT_MS = 10_000
/** Trips on their way at a time: while the server works on one, the next lies ready before it. */
const MAX_SUBMISSIONS = 2

/** Connects, and again whenever the connection is lost; a caller that finds it not ready has to use another connection. */
export function openPipeline(
  url: string,
  options: { name: string; settings?: Record<string, string> },
): Pipeline {
  let client: Client | null = null
  /** Of the client, once it made a trip. */
  let wire: Connection | undefined
  let prepared = new Map<string, string>()
  let names = 0
  let underWay = 0
  let ended = false
  let timer: NodeJS.Timeout | undefined
  const settings = Object.entries({ TimeZone: 'UTC', ...options.settings })

  async function open(): Promise<void> {
    const opening = new PrimaryClient({
      connectionString: url,
      application_name: `svc ${options.name}`,
      options: settings.map(([name, value]) => `-c ${name}=${value}`).join(' '),
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    })
    let over = false
    // Told by an error, by the end of the connection, and by a failure to make it: it counts once.
    const lost = (): void => {
      if (client === opening) client = null
      if (over || ended) return
      over = true
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
      wire = undefined
      if (ended) await opening.end()
      else client = opening
    } catch {
      lost()
    }
  }
  let connecting = open()

  return {
    get ready() {
      return client !== null && underWay < MAX_SUBMISSIONS
    },
    async run(steps) {
      if (client === null || underWay >= MAX_SUBMISSIONS) throw closed(undefined)
      underWay++
      const fresh: string[] = []
      const submission = createSubmission(
        steps.map((step) => {
          const known = prepared.get(step.name)
          if (known !== undefined) return { ...step, name: known, prepare: false }
          const name = `trip_${++names}`
          prepared.set(step.name, name)
          fresh.push(step.name)
          return { ...step, name, prepare: true }
        }),
        (connection) => {
          wire = connection
        },
      )
      try {
        // Always at once, so that they are sent in the order in which `pg` takes their answers.
        if (wire !== undefined) submission.send(wire)
        client.query(submission)
        return await inSpan(
          `${options.name}.commit`,
          { 'db.statements': steps.length },
          () => submission.done,
        )
      } catch (error) {
        // Some of them may not have been reached; what was prepared stays so, under a name that is not used again.
        for (const name of fresh) prepared.delete(name)
        throw fieldOf(error, 'severity') === undefined ? closed(error) : error
      } finally {
        underWay--
      }
    },
    async end() {
      ended = true
      clearTimeout(timer)
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
 * What `pg` asks of a query of its users' own; it calls these as answers come in. It submits one when the one before is
 * over; to send without waiting, submit it directly. (The pipeline mode of `pg` does not take custom queries.)
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
