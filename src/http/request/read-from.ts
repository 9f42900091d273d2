import type { FastifyReply, FastifyRequest } from 'fastify'
import { databaseFault } from '../../db/sql.ts'
import type { TelemetryPool } from '../../domain/telemetry.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'

/** In a request: where to read. In the answer: where it was read, if there is a replica. */
const HEADER = 'x-svc-read-from'
type Place = 'replica' | 'primary'
type Reading = Pick<Services, 'sql' | 'visitorSql' | 'replica'>

/**
 * Reads from the replica if the request wants that and the replica has everything that is committed; else from the
 * primary. The permissions were checked on the primary. If the replica fails, the primary is read.
 * @param usual where to read if the request does not say
 * @throws Problem bad_request for an unknown value
 */
export async function readFrom<T>(
  { sql: primary, visitorSql, replica }: Reading,
  request: FastifyRequest,
  reply: FastifyReply,
  usual: Place,
  read: (db: TelemetryPool) => Promise<T>,
): Promise<T> {
  const sql = (await request.caller()).kind === 'anonymous' ? visitorSql : primary
  const wanted = request.headers[HEADER] ?? usual
  if (wanted !== 'replica' && wanted !== 'primary')
    throw new Problem('bad_request', { detail: `${HEADER} must be replica or primary` })
  if (replica === undefined) return read(sql)
  if (wanted === 'replica' && (await replica.hasCaughtUp())) {
    try {
      const answer = await read(replica.sql)
      replica.counts.replica++
      reply.header(HEADER, 'replica')
      return answer
    } catch (error) {
      const fault = databaseFault(error)
      if (error instanceof Problem || fault === 'timeout' || fault === 'bad_value') throw error
      // A conflict with replay ends only this statement; the replica itself works.
      if (fault !== 'retry') replica.failed(error)
    }
  }
  if (wanted === 'replica') replica.counts.primary++
  reply.header(HEADER, 'primary')
  return read(sql)
}

/** As `readFrom`, for a stream: if the replica fails before the first part, the primary is read. */
export const streamFrom = <T>(
  services: Reading,
  request: FastifyRequest,
  reply: FastifyReply,
  usual: Place,
  read: (db: TelemetryPool) => AsyncGenerator<T>,
): Promise<AsyncGenerator<T>> =>
  readFrom(services, request, reply, usual, async (db) =>
    db === services.replica?.sql ? begun(read(db)) : read(db),
  )

async function begun<T>(pieces: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await pieces.next()
  return (async function* () {
    if (first.done) return
    yield first.value
    yield* pieces
  })()
}
