import type postgres from 'postgres'
import { failSpan, startStatement } from '../tracing.ts'

/** What postgres.js makes of a statement, and sends once someone waits for it. */
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
 * Gives each statement of postgres.js its span, from when it is sent to its answer. The library has no hook for that, but
 * all pools share one class of statements. Called only where spans are asked for.
 */
export function traceStatementsOf(sql: postgres.Sql<{ bigint: number }>): void {
  if (done) return
  // It is never sent.
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
  // Of the plain promise: to wait for a statement is what sends it.
  Promise.prototype.then.call(
    statement,
    () => span.end(),
    (error) => {
      failSpan(span, error)
      span.end()
    },
  )
}

/** Statements of transactions, `begin` and `commit`, have no name but their first word. */
const nameOf = (text: string): string =>
  /^\s*(?:\/\* ([\w.]+) \*\/|([a-z]+))/.exec(text)?.slice(1).find(Boolean) ?? 'statement'
