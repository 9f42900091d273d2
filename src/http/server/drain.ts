import type { FastifyInstance } from 'fastify'

/**
 * How long requests in progress may take after the service begins to stop; the rest of the ten seconds is for the
 * database.
 */
const DRAIN_MS = 5_000

/** Closes the listener: accepts no new request, answers those in progress, and aborts those that take too long. */
export async function drain(server: FastifyInstance): Promise<void> {
  const listener = server.server
  const patience = setTimeout(() => listener.closeAllConnections(), DRAIN_MS)
  // A client keeps a connection alive after an answer that it got while the listener closed.
  const idle = setInterval(() => listener.closeIdleConnections(), 50)
  await server.close().finally(() => {
    clearTimeout(patience)
    clearInterval(idle)
  })
}
