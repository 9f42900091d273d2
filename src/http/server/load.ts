import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../../problem.ts'

/** Requests that one process works on at a time. More than that would only wait, and be answered too late. */
const MOST_REQUESTS = 1_000

export interface Load {
  /** Requests that are worked on: those whose body is still on its way are not among them. */
  readonly inFlight: number
  /** How many were refused. */
  readonly shed: number
}

/** What must answer at any time: probes, and whoever looks for what is wrong. */
const ALWAYS = new Set(['/livez', '/readyz', '/metrics'])

/**
 * Refuses what is too much before anything is done for it, at the price of a few microseconds, so that what was begun is
 * finished: 503 `overloaded` beyond what the process can take, 429 `too_many_requests` beyond what one client address
 * may have at a time. A request counts from the moment at which its body is here: sockets that send theirs slowly take
 * nothing from others (slow-bodies.ts ends them). Streams have bounds of their own.
 * @param limits.perAddress requests at a time of one client address, which `SVC_TRUST_PROXY` decides
 */
export function shedLoad(app: FastifyInstance, limits: { perAddress: number; most?: number }): Load {
  const { perAddress, most = MOST_REQUESTS } = limits
  const load = { inFlight: 0, shed: 0 }
  const ofAddress = new Map<string, number>()

  function refuse(problem: Problem, done: (error: Error) => void): void {
    load.shed++
    done(problem)
  }
  app.addHook('onRequest', (request, _reply, done) => {
    // Nothing that would be refused once its body is here needs to send it.
    if (load.inFlight >= most && !isExempt(request)) {
      refuse(new Problem('overloaded', { retryAfterS: 1 }), done)
    } else done()
  })
  app.addHook('preValidation', (request, reply, done) => {
    if (isExempt(request)) return done()
    if (load.inFlight >= most) return refuse(new Problem('overloaded', { retryAfterS: 1 }), done)
    const address = request.ip
    const standing = ofAddress.get(address) ?? 0
    if (standing >= perAddress) return refuse(new Problem('too_many_requests', { retryAfterS: 1 }), done)
    // Its connection is lost already: nothing would tell when the answer is over.
    if (reply.raw.closed) return done()
    load.inFlight++
    ofAddress.set(address, standing + 1)
    reply.raw.once('close', () => {
      load.inFlight--
      const left = (ofAddress.get(address) ?? 1) - 1
      if (left === 0) ofAddress.delete(address)
      else ofAddress.set(address, left)
    })
    done()
  })
  return load
}

const isExempt = (request: FastifyRequest): boolean =>
  ALWAYS.has(request.routeOptions.url ?? '') || isStream(request)

const isStream = ({ headers, routeOptions }: FastifyRequest): boolean =>
  routeOptions.url === '/api/sse' || headers.accept === 'text/event-stream'
