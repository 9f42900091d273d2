import { findPrimary, PrimaryClient } from './hosts.ts'

/** What is between the service and PostgreSQL. */
export interface Pooler {
  /** Whether another program answers for PostgreSQL, such as PgBouncer. */
  present: boolean
  /** Whether it gives a connection to another client between two transactions. */
  perTransaction: boolean
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
    for (const [i, client] of clients.entries()) {
      await client.connect()
      const pid = await backendOf(client)
      seen[i] = new Set([pid])
      // The number in PostgreSQL's greeting is that of the backend; a pooler makes one up.
      present ||= (client as unknown as { processID: number }).processID !== pid
    }
    const [first, second] = clients as [PrimaryClient, PrimaryClient]
    // Without a pooler one look would do, but a pooler may well pass the greeting on.
    for (let round = 0; round < ROUNDS; round++)
      for (const client of round % 2 === 0 ? [second, first] : [first, second])
        seen[clients.indexOf(client)]?.add(await backendOf(client))
    const perTransaction =
      seen.some((pids) => pids.size > 1) || [...(seen[0] ?? [])].some((pid) => seen[1]?.has(pid))
    return { present: present || perTransaction, perTransaction }
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}

async function backendOf(client: PrimaryClient): Promise<number> {
  const { rows } = await client.query('/* pooler.backend */ select pg_backend_pid() pid')
  return Number(rows[0]?.pid)
}

/** What is wrong with the address in a setting, and what to do. */
export const transactionPooler = (setting = 'SVC_DATABASE_URL') => ({
  text: 'a connection pooler in transaction mode answers',
  advice: `Name PostgreSQL itself in ${setting}, or set the pooler to session mode (PgBouncer: pool_mode = session).`,
})

export class TransactionPoolerError extends Error {
  constructor(setting?: string) {
    const { text, advice } = transactionPooler(setting)
    super(`${text}. ${advice}`)
  }
}

/** @throws Error with one line for the operator, for a pooler that this service cannot work through */
export async function refuseTransactionPooler(url: string, setting?: string): Promise<void> {
  if ((await findPooler(url)).perTransaction) throw new TransactionPoolerError(setting)
}
