import { findPrimary, PrimaryClient } from './hosts.ts'

/** What is between the service and PostgreSQL. */
export interface Pooler {
  /** Whether another program answers for PostgreSQL, such as PgBouncer. */
  present: boolean
  /** Whether it gives a connection to another client between two transactions. */
  perTransaction: boolean
  /** Whether it is Pgpool-II. */
  pgpool: boolean
}

/**
 * How often each of two connections asks for its backend. A pooler per transaction gives both the same one, or one of them
 * another, whichever of its free backends it takes next: the last, the first, or any.
 */
const ROUNDS = 4

/**
 * Finds out whether there is a pooler, and whether it works per transaction. Notifications, locks, settings and prepared
 * statements belong to a connection, so with such a pooler one statement would get the answer of another.
 */
export async function findPooler(url: string): Promise<Pooler> {
  await findPrimary(url)
  const clients = [1, 2].map(() => new PrimaryClient({ connectionString: url, name: 'pooler' }))
  for (const client of clients) client.on('error', () => {})
  try {
    const seen: Set<number>[] = []
    let present = false
    let pgpool = false
    for (const [i, client] of clients.entries()) {
      await client.connect()
      const { pid, port } = await backendOf(client)
      seen[i] = new Set([pid])
      const { processID, connection } = client as unknown as Connected
      // The number in PostgreSQL's greeting is that of the backend; a pooler makes one up, or passes it on: then the
      // backend's client has another port.
      present ||= processID !== pid || port !== (connection.stream.localPort ?? null)
      if (present) pgpool ||= await isPgpool(client)
    }
    const [first, second] = clients as [PrimaryClient, PrimaryClient]
    // Without a pooler one look would do, but a pooler may well pass the greeting on.
    for (let round = 0; round < ROUNDS; round++)
      for (const client of round % 2 === 0 ? [second, first] : [first, second])
        seen[clients.indexOf(client)]?.add((await backendOf(client)).pid)
    const perTransaction =
      seen.some((pids) => pids.size > 1) || [...(seen[0] ?? [])].some((pid) => seen[1]?.has(pid))
    return { present: present || perTransaction, perTransaction, pgpool }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}

/** Properties of `pg` that its types leave out: what the greeting said, and the port of this end. */
interface Connected {
  processID: number
  connection: { stream: { localPort?: number } }
}

/** The backend that answers, and the port of its client; null over a Unix socket. */
async function backendOf(client: PrimaryClient): Promise<{ pid: number; port: number | null }> {
  const { rows } = await client.query(
    '/* pooler.backend */ select pg_backend_pid() pid, inet_client_port() port',
  )
  return rows[0] as { pid: number; port: number | null }
}

/** Pgpool-II answers this itself; PostgreSQL does not know the name. */
const isPgpool = (client: PrimaryClient): Promise<boolean> =>
  client.query('show pool_version').then(
    () => true,
    () => false,
  )

interface Fault {
  text: string
  advice: string
}

/** What is wrong with the address in a setting, and what to do; undefined if the service can work through the pooler. */
export function poolerFault(pooler: Pooler, setting = 'SVC_DATABASE_URL'): Fault | undefined {
  const direct = `Name PostgreSQL itself in ${setting}`
  if (pooler.pgpool)
    return {
      text: 'Pgpool-II answers, which does not pass on statements that are sent before the last one is answered',
      advice: `${direct}, or PgBouncer with pool_mode = session.`,
    }
  if (pooler.perTransaction)
    return {
      text: 'a connection pooler in transaction mode answers',
      advice: `${direct}, or set the pooler to session mode (PgBouncer: pool_mode = session).`,
    }
  return undefined
}

export class PoolerError extends Error {
  readonly fault: Fault
  constructor(fault: Fault) {
    super(`${fault.text}. ${fault.advice}`)
    this.fault = fault
  }
}

/** @throws PoolerError with one line for the operator, for a pooler that this service cannot work through */
export async function refusePooler(url: string, setting?: string): Promise<void> {
  const fault = poolerFault(await findPooler(url), setting)
  if (fault !== undefined) throw new PoolerError(fault)
}
