import { ConfigError } from '../config.ts'
import { urlsOf } from '../db/hosts.ts'
import { codeOf, fieldOf } from '../thrown.ts'

/** Faults of connecting and of signing in (PostgreSQL's classes 08, 28 and 3D), by the code of the error. */
const UNREACHABLE =
  /^(ECONN|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOENT|CONNECT|08|28|3D|53300|57P0[123])/

/**
 * One line for what the operator can mend: a bad setting, a port that is taken, a database that is away, and what
 * our own code says in a sentence. Undefined for everything else, which is a fault of ours and needs its stack.
 * Never holds a password: a database is named by its host.
 */
export function failureLine(error: unknown, databaseUrl: string | undefined): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = codeOf(error)
  const [syscall, address, port] = ['syscall', 'address', 'port'].map((name) => fieldOf(error, name))
  if (syscall === 'listen' || syscall === 'getaddrinfo' || syscall === 'bind') {
    const place = port === undefined ? `${address ?? 'SVC_HOST'}` : `${address} port ${port}`
    if (code === 'EADDRINUSE')
      return `${place} is in use: another server runs there. Stop it, or choose another SVC_PORT`
    if (syscall !== 'getaddrinfo' || databaseUrl === undefined)
      return `cannot listen on ${place} (${code}): see SVC_HOST and SVC_PORT`
  }
  if (databaseUrl !== undefined && code !== undefined && UNREACHABLE.test(code)) {
    return `the database at ${hostOf(databaseUrl)} cannot be used: ${error.message || code}. See SVC_DATABASE_URL`
  }
  // ConfigError, and the plain errors in which db/ tells what it found; a subclass of Error is a surprise.
  if (error instanceof ConfigError || (error.constructor === Error && code === undefined))
    return error.message
  return undefined
}

function hostOf(databaseUrl: string): string {
  try {
    return urlsOf(databaseUrl)
      .map((url) => new URL(url).host)
      .join(' and ')
  } catch {
    return 'SVC_DATABASE_URL'
  }
}
