import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createFairShare } from '../../ingest/index.ts'
import { Problem } from '../../problem.ts'
import { networkOf } from './network-of.ts'

/** How many requests one process handles at a time. More would only wait, and be answered too late. */
const MAX_REQUESTS = 1_000
/** How many of those are shared by users that send events; the rest is reserved for users below their equal share. */
const SHARED = 0.8

export interface Load {
  /** Requests in progress, without those whose body is still arriving. */
  readonly inFlight: number
  /** How many requests were refused. */
  readonly shed: number
}

/** The user that a request counts for, if known before its body has arrived. */
const userOf = new WeakMap<FastifyRequest, string>()
/**
 * Counts the request for its user instead of its client address: users may share an address, and a user may have
 * several.
 */
export const countForUser = (request: FastifyRequest, userId: string): void => {
  userOf.set(request, userId)
}

const endOf = new WeakMap<FastifyRequest, () => void>()
/** From now on the answer is a stream, which the limits of streams count instead. */
export const countAsStream = (request: FastifyRequest): void => endOf.get(request)?.()

/** Routes that are never refused: probes, and those that operators need to find a fault. */
const ALWAYS = new Set(['/livez', '/readyz', '/metrics'])

/**
 * Refuses requests that are too many before any work is done for them, within microseconds, so that requests in
 * progress can finish: 503 `overloaded` if the process is full, 429 `too_many_requests` if one client address has too
 * many. A request counts from when its body has arrived, so slow clients do not take places from others (slow-bodies.ts
 * ends them), until its answer ends or becomes a stream: streams have limits of their own (stream-slots.ts). Users that
 * send events share most of the places fairly: if those are taken, users with more than an equal share are refused.
 * @param limits.perAddress requests at a time of one client address, which `SVC_TRUST_PROXY` determines
 */
export function shedLoad(app: FastifyInstance, limits: { perAddress: number; most?: number }): Load {
  const { perAddress, most = MAX_REQUESTS } = limits
  const load = { inFlight: 0, shed: 0 }
  const ofNetwork = new Map<string, number>()
  const ofUsers = createFairShare(() => most * SHARED)

  function refuse(problem: Problem, done: (error: Error) => void): void {
    load.shed++
    done(problem)
  }
  app.addHook('onRequest', (request, _reply, done) => {
    // Refuses now what would be refused after its body has arrived, so that the client need not send it.
    if (load.inFlight >= most && !isExempt(request)) {
      refuse(new Problem('overloaded', { retryAfterS: 1 }), done)
    } else done()
  })
  app.addHook('preValidation', (request, reply, done) => {
    if (isExempt(request)) return done()
    if (load.inFlight >= most) return refuse(new Problem('overloaded', { retryAfterS: 1 }), done)
    const user = userOf.get(request)
    const network = networkOf(request.ip)
    const running = ofNetwork.get(network) ?? 0
    if (user !== undefined ? ofUsers.refuses(user, 1) : running >= perAddress) {
      const code = user !== undefined ? 'overloaded' : 'too_many_requests'
      return refuse(new Problem(code, { retryAfterS: 1 }), done)
    }
    // The connection is closed already: no event would report the end of the answer.
    if (reply.raw.closed) return done()
    load.inFlight++
    if (user !== undefined) ofUsers.take(user, 1)
    else ofNetwork.set(network, running + 1)
    const end = (): void => {
      if (!endOf.delete(request)) return
      load.inFlight--
      const left = (ofNetwork.get(network) ?? 1) - 1
      if (user !== undefined) ofUsers.giveBack(user, 1)
      else if (left === 0) ofNetwork.delete(network)
      else ofNetwork.set(network, left)
    }
    endOf.set(request, end)
    reply.raw.once('close', end)
    done()
  })
  return load
}

/** GET /api/sse has no other answer than a stream. */
const isExempt = ({ method, routeOptions: { url = '' } }: FastifyRequest): boolean =>
  ALWAYS.has(url) || (method === 'GET' && url === '/api/sse')
