import { codeOf, fieldOf, messageOf } from '../thrown.ts'

/**
 * What a worker of a Citus cluster answered while rows were copied to it, Citus passes on in words alone, as an internal
 * error; so it does with a worker that is lost before the commit. These are the codes that belong to the words.
 */
const FROM_WORKER: readonly (readonly [RegExp, string])[] = [
  [/^failure on connection marked as essential/, '08006'],
  [/^failed to complete COPY on/, '08006'],
  [/^could not commit transaction for shard/, '08006'],
  [/terminating connection|server closed the connection|could not receive data|connection not open/, '08006'],
  [/^postmaster was shut down/, '57P02'],
  [/^the database system is (starting up|shutting down|in recovery mode|not yet accepting)/, '57P03'],
  [/^(could not extend file|no space left|out of memory|out of shared memory)/i, '53000'],
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
 * The code of an error of PostgreSQL, that of the worker where a cluster passed its error on. What ends the session or the
 * server without a code of its own is a crash.
 */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error)
  if (code !== INTERNAL && code !== IO_ERROR) return code
  const severity = fieldOf(error, 'severity')
  if (severity === 'FATAL' || severity === 'PANIC') return CRASH
  return FROM_WORKER.find(([words]) => words.test(messageOf(error)))?.[1] ?? code
}
