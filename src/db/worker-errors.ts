import { codeOf, fieldOf, messageOf } from '../thrown.ts'

/**
 * Citus reports an error of a worker during COPY, and the loss of a worker before the commit, as an internal error with
 * only the message. This maps such messages to the SQLSTATE that the worker sent.
 */
const FROM_WORKER: readonly (readonly [RegExp, string])[] = [
  [/^failure on connection marked as essential/, '08006'],
  [/^failed to complete COPY on/, '08006'],
  [/^could not commit transaction for shard/, '08006'],
  [/terminating connection|server closed the connection|could not receive data|connection not open/, '08006'],
  [/^postmaster was shut down/, '57P02'],
  [/^the database system is (starting up|shutting down|in recovery mode|not yet accepting)/, '57P03'],
  [/^(could not extend file|no space left|out of memory|out of shared memory)/i, '53000'],
  [/^canceling statement due to lock timeout/, '55P03'],
  [/^deadlock detected/, '40P01'],
  [/^could not serialize access/, '40001'],
  [/ violates unique constraint /, '23505'],
  [/ violates (check|not-null|foreign key|exclusion) constraint/, '23514'],
  [/^value too long for type /, '22001'],
  [/ out of range\b/, '22003'],
  [/^invalid (input syntax|byte sequence)/, '22P02'],
  [/^index row (size|requires)/, '54000'],
]
const INTERNAL = 'XX000'
const IO_ERROR = '58030'
const CRASH = '57P02'

/**
 * The SQLSTATE of a PostgreSQL error; on a cluster, that of the worker's error. An error that ends the session or the
 * server without a code of its own counts as a crash.
 */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error)
  if (code !== INTERNAL && code !== IO_ERROR) return code
  const severity = fieldOf(error, 'severity')
  if (severity === 'FATAL' || severity === 'PANIC') return CRASH
  return FROM_WORKER.find(([words]) => words.test(messageOf(error)))?.[1] ?? code
}
