import type postgres from 'postgres'
import { failSpan, startStatement } from '../tracing.ts'

/** A query of postgres.js. It is sent when it is first awaited. */
interface Statement extends Promise<unknown> {
  strings: readonly string[]
  executed: boolean
}
interface StatementClass {
  handle(this: Statement): Promise<void>
}

const isStatementClass = (value: unknown): value is StatementClass =>
  typeof value === 'object' && value !== null && 'handle' in value && typeof value.handle === 'function'

let done = false

/**
 * Creates a span for each statement of postgres.js, from sending it until its answer. The library has no hook for this,
 * but all connection pools share one class of queries. Called only if tracing is on.
 */
export function traceStatementsOf(sql: postgres.Sql<{ bigint: number }>): void {
  if (done) return
  // This query is never awaited, so it is not sent.
  const statements: unknown = Object.getPrototypeOf(sql`/* tracing.class */ select`)
  if (!isStatementClass(statements)) throw new Error('postgres.js makes its statements in another way')
  done = true
  const send = statements.handle
  statements.handle = function (this: Statement) {
    if (!this.executed) follow(this)
    return send.call(this)
  }
}

function follow(statement: Statement): void {
  const span = startStatement(nameOf(statement.strings[0] ?? ''))
  if (span === undefined) return
  // `Promise.prototype.then` instead of the query's own `then`, which would send it.
  Promise.prototype.then.call(
    statement,
    () => span.end(),
    (error) => {
      failSpan(span, error)
      span.end()
    },
  )
}

/** The name in the leading comment. `begin` and `commit` have none and are named by their first word. */
const nameOf = (text: string): string =>
  /^\s*(?:\/\* ([\w.]+) \*\/|([a-z]+))/.exec(text)?.slice(1).find(Boolean) ?? 'statement'
