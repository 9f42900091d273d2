import { ConfigError } from '../config.ts'
import { addressOf, placeOf } from '../db/address.ts'
import { PoolerError } from '../db/pooler.ts'
import { codeOf, fieldOf } from '../thrown.ts'
import { NoDatabase } from './database.ts'

/** PostgreSQL's errors of connecting and signing in (classes 08, 28 and 3D), and of a standby (25006), by their code. */
const UNREACHABLE =
  /^(DATABASE_TLS|ERR_SSL|ERR_TLS|ECONN|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOENT|CONNECT|08|25006|28|3D|53300|57P0[123])/

/** PostgreSQL's insufficient_privilege: since version 15, only the owner of a database may create tables in it. */
const MAY_NOT = '42501'

/** What keeps a file or folder from being opened, read or written. */
const FILE_FAULT = /^(ENOENT|ENOTDIR|EISDIR|EACCES|EPERM|EROFS|ENOSPC|EDQUOT)$/

/**
 * One line for an error that the operator can fix: a wrong setting, a used port, an unreachable database, a file that
 * cannot be used, and our own errors. Undefined for all others, which are bugs and need their stack. It never contains a password: a database is
 * named by its host.
 */
export function failureLine(error: unknown, databaseUrl: string | undefined): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof NoDatabase || error instanceof PoolerError) return error.message
  const code = codeOf(error)
  const [syscall, address, port] = ['syscall', 'address', 'port'].map((name) => fieldOf(error, name))
  if (syscall === 'listen' || syscall === 'getaddrinfo' || syscall === 'bind') {
    const place = port === undefined ? `${address ?? 'SVC_HOST'}` : `${address} port ${port}`
    if (code === 'EADDRINUSE')
      return `${place} is in use: another server runs there. Stop it, or choose another SVC_PORT`
    if (syscall !== 'getaddrinfo' || databaseUrl === undefined)
      return `cannot listen on ${place} (${code}): see SVC_HOST and SVC_PORT`
  }
  if (fieldOf(error, 'path') !== undefined && syscall !== 'connect' && FILE_FAULT.test(code ?? ''))
    return error.message // "ENOENT: no such file or directory, open '/backups/monday.svc'"
  if (databaseUrl !== undefined && code === MAY_NOT)
    return `the database at ${hostOf(databaseUrl)} refuses its account: ${error.message}. Make the account the owner of the database, or grant it create on the database and on its schema`
  if (databaseUrl !== undefined && code !== undefined && UNREACHABLE.test(code)) {
    return `the database at ${hostOf(databaseUrl)} cannot be used: ${error.message || code}. ${remedyFor(code)}`
  }
  // ConfigError, and the plain errors of db/; any other subclass of Error is unexpected.
  if (error instanceof ConfigError || (error.constructor === Error && code === undefined))
    return error.message
  return undefined
}

/** What to do about an error of connecting, by its code. */
function remedyFor(code: string): string {
  if (code.startsWith('28'))
    return 'Correct user and password in SVC_DATABASE_URL, or pg_hba.conf at the server'
  if (code === '3D000') return 'Create it, or correct the name in SVC_DATABASE_URL'
  if (code === 'ENOTFOUND') return 'Correct the host in SVC_DATABASE_URL'
  return 'See SVC_DATABASE_URL'
}

function hostOf(databaseUrl: string): string {
  try {
    return addressOf(databaseUrl).hosts.map(placeOf).join(' and ')
  } catch {
    return 'SVC_DATABASE_URL'
  }
}
