import type { FastifyInstance } from 'fastify'

/** How long requests under way may take once the service stops; the rest of the ten seconds is for the database. */
const DRAIN_MS = 5_000

/** Closes the listener: accepts no new request, answers those in progress, and aborts those that take too long. */
export async function drain(server: FastifyInstance): Promise<void> {
  const listener = server.server
  const patience = setTimeout(() => listener.closeAllConnections(), DRAIN_MS)
  // A connection that was busy when the listener closed is kept alive by its client after the answer.
  const idle = setInterval(() => listener.closeIdleConnections(), 50)
  await server.close().finally(() => {
    clearTimeout(patience)
    clearInterval(idle)
  })
}
