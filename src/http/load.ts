import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../problem.ts'

/** Requests that one process works on at a time. More than that would only wait, and be answered too late. */
const MOST_REQUESTS = 1_000

export interface Load {
  readonly inFlight: number
  /** How many were refused. */
  readonly shed: number
}

/** What must answer at any time: probes, and whoever looks for what is wrong. */
const ALWAYS = new Set(['/livez', '/readyz', '/metrics'])

/**
 * Refuses what is too much before anything is done for it: 503 with `Retry-After`, at the price of a few
 * microseconds, so that what was begun is finished. Streams have a bound of their own.
 */
export function shedLoad(app: FastifyInstance, most = MOST_REQUESTS): Load {
  const load = { inFlight: 0, shed: 0 }
  const answered = (): void => {
    load.inFlight--
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (ALWAYS.has(request.routeOptions.url ?? '') || isStream(request)) {
      done()
    } else if (load.inFlight >= most) {
      load.shed++
      done(new Problem('overloaded', { retryAfterS: 1 }))
    } else {
      load.inFlight++
      reply.raw.once('close', answered)
      done()
    }
  })
  return load
}

const isStream = ({ headers, routeOptions }: FastifyRequest): boolean =>
  routeOptions.url === '/api/sse' || headers.accept === 'text/event-stream'
