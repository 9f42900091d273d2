import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { MAX_CONNECTIONS } from '../db/connection-limit.ts'
import { PoolerError } from '../db/pooler.ts'
import { TLS_FAULT } from '../db/tls.ts'
import { codeOf, messageOf } from '../thrown.ts'
import { NoDatabase } from './database.ts'
import { failureLine } from './failure.ts'
import { type Finding, failure } from './finding.ts'

/** PostgreSQL's too_many_connections. */
const TOO_MANY_CONNECTIONS = '53300'
/** PostgreSQL's invalid_password, also if there is none. */
const WRONG_PASSWORD = '28P01'

/** What \`svc doctor\` says of a database that cannot be used. */
export function databaseFailure(error: unknown, { databaseUrl, dataDir }: Config): Finding {
  const fail = (text: string, advice: string): Finding => failure('database', text, advice)
  if (error instanceof NoDatabase)
    return fail(
      `there is none in ${resolve(dataDir)}`,
      'Correct SVC_DATA_DIR, or start the service, which creates the database.',
    )
  if (error instanceof PoolerError) {
    const { text, advice } = error.fault
    return fail(text, advice)
  }
  const text = failureLine(error, databaseUrl) ?? messageOf(error)
  if (databaseUrl === undefined)
    return fail(text, `PostgreSQL's own messages are in ${resolve(dataDir)}/data/log.`)
  const code = codeOf(error)
  if (code === TOO_MANY_CONNECTIONS)
    return fail(
      text,
      `A server opens up to ${MAX_CONNECTIONS} connections: raise max_connections, and the limit of the role if it has one.`,
    )
  if (code === WRONG_PASSWORD)
    return fail(
      text,
      'Percent-encode special characters of the password in the URL, or use PGPASSWORD or ~/.pgpass.',
    )
  if (code === TLS_FAULT)
    return fail(
      text,
      'Add the parameters to SVC_DATABASE_URL: ?sslmode=verify-full&sslrootcert=/path/to/ca.pem',
    )
  return fail(text, 'Try the same address with psql from this machine.')
}
