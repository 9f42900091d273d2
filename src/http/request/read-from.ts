import type { FastifyReply, FastifyRequest } from 'fastify'
import { databaseFault, type Sql } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'

/** In a request: where a client would have it answered. In the answer: where it was, if there is a replica. */
const HEADER = 'x-svc-read-from'
type Place = 'replica' | 'primary'
type Reading = Pick<Services, 'sql' | 'replica'>

/**
 * Reads from the replica where the request wants that and the replica holds all that is committed by now, else from the
 * primary. Who may read what is settled on the primary before. What fails at the replica is read from the primary.
 * @param usual where it is read when the request does not say
 * @throws Problem bad_request for a place that there is not
 */
export async function readFrom<T>(
  { sql, replica }: Reading,
  request: FastifyRequest,
  reply: FastifyReply,
  usual: Place,
  read: (db: Sql) => Promise<T>,
): Promise<T> {
  const wanted = request.headers[HEADER] ?? usual
  if (wanted !== 'replica' && wanted !== 'primary')
    throw new Problem('bad_request', { detail: `${HEADER} must be replica or primary` })
  if (replica === undefined) return read(sql)
  if (wanted === 'replica' && (await replica.holdsAll())) {
    try {
      const answer = await read(replica.sql)
      replica.counts.replica++
      reply.header(HEADER, 'replica')
      return answer
    } catch (error) {
      const fault = databaseFault(error)
      if (error instanceof Problem || fault === 'timeout' || fault === 'bad_value') throw error
      // A conflict with what it replays ends one statement; the replica is well.
      if (fault !== 'retry') replica.failed(error)
    }
  }
  if (wanted === 'replica') replica.counts.primary++
  reply.header(HEADER, 'primary')
  return read(sql)
}

/** As `readFrom`, piece by piece: what fails at the replica before its first piece is read from the primary. */
export const streamFrom = <T>(
  services: Reading,
  request: FastifyRequest,
  reply: FastifyReply,
  usual: Place,
  read: (db: Sql) => AsyncGenerator<T>,
): Promise<AsyncGenerator<T>> =>
  readFrom(services, request, reply, usual, async (db) => (db === services.sql ? read(db) : begun(read(db))))

async function begun<T>(pieces: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await pieces.next()
  return (async function* () {
    if (first.done) return
    yield first.value
    yield* pieces
  })()
}
