import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createFairShare } from '../../ingest/index.ts'
import { Problem } from '../../problem.ts'

/** Requests that one process works on at a time. More than that would only wait, and be answered too late. */
const MAX_REQUESTS = 1_000
/** Of those, what users who send events share; the rest is kept for those who hold less than their part of it. */
const SHARED = 0.8

export interface Load {
  /** Requests that are worked on: those whose body is still on its way are not among them. */
  readonly inFlight: number
  /** How many were refused. */
  readonly shed: number
}

/** Whose share a request takes, where that is known before its body is here. */
const userOf = new WeakMap<FastifyRequest, string>()
/** Counts the request for its user instead of for its client address: many users may share one, and one many. */
export const countForUser = (request: FastifyRequest, userId: string): void => {
  userOf.set(request, userId)
}

/** Routes that must answer at any time: probes, and those that operators need to find a fault. */
const ALWAYS = new Set(['/livez', '/readyz', '/metrics'])

/**
 * Refuses what is too much before anything is done for it, at the price of a few microseconds, so that what was begun is
 * finished: 503 `overloaded` beyond what the process can take, 429 `too_many_requests` beyond what one client address
 * may have at a time. A request counts from the moment at which its body is here: sockets that send theirs slowly take
 * nothing from others (slow-bodies.ts ends them). Streams have bounds of their own. Requests of known users share most of
 * what the process can take fairly: when that is full, users with more than an equal share wait.
 * @param limits.perAddress requests at a time of one client address, which `SVC_TRUST_PROXY` decides
 */
export function shedLoad(app: FastifyInstance, limits: { perAddress: number; most?: number }): Load {
  const { perAddress, most = MAX_REQUESTS } = limits
  const load = { inFlight: 0, shed: 0 }
  const ofAddress = new Map<string, number>()
  const ofUsers = createFairShare(() => most * SHARED)

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
    const user = userOf.get(request)
    const address = request.ip
    const running = ofAddress.get(address) ?? 0
    if (user !== undefined ? ofUsers.refuses(user, 1) : running >= perAddress) {
      const code = user !== undefined ? 'overloaded' : 'too_many_requests'
      return refuse(new Problem(code, { retryAfterS: 1 }), done)
    }
    // Its connection is lost already: nothing would tell when the answer is over.
    if (reply.raw.closed) return done()
    load.inFlight++
    if (user !== undefined) ofUsers.take(user, 1)
    else ofAddress.set(address, running + 1)
    reply.raw.once('close', () => {
      load.inFlight--
      if (user !== undefined) return ofUsers.giveBack(user, 1)
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
