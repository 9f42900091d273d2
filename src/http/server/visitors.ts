import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type CostBudget, costOfBytes, type Payer, REQUEST_COST } from '../../cost-budget.ts'
import { payerOf } from '../../domain/caller.ts'
import type { Services } from '../../services.ts'
import { inTurns } from '../../turns.ts'
import type { VisitorPool } from '../../visitor-pool.ts'
import { networkOf } from './network-of.ts'

/** A read by a visitor: a caller without a credential, or one that opens a link. */
interface Visit {
  payer: Payer
  budget: CostBudget
  pool: VisitorPool
  /** Ends its place in the pool. */
  leave: () => void
}
const visits = new WeakMap<FastifyRequest, Visit>()

/** Points of series that take as long to read and sample as a row costs. */
const POINTS_PER_COST = 1_000

/** Routes whose link is the credential: any caller is a visitor there. */
const BY_LINK = /^\/api\/(?:shared(?:\/|-reports\/):token|oembed$)/
/** Routes that read no data of projects, and those with limits of their own. */
const EXEMPT = /^\/api\/(?:settings|openapi\.json|docs|mail\.css|auth|oauth|sse)(?:\/|$)/

/**
 * Limits the reads of visitors over REST, of the routes that are registered after it: their cost over time by network,
 * and how many run at a time. GraphQL and streams do the same themselves, when they know what is asked.
 */
export function limitVisitors(app: FastifyInstance, { budget, visitors: pool }: Services): void {
  app.addHook('preHandler', async (request, reply) => {
    const payer = await visitorOf(request)
    if (payer === undefined) return
    budget.take(payer, REQUEST_COST)
    await enter(request, reply, { payer, budget, pool })
  })
  app.addHook('onSend', (request, _reply, payload: unknown, done) => {
    const visit = visits.get(request)
    if (typeof payload === 'string') visit?.budget.spend(visit.payer, costOfBytes(payload.length))
    visit?.leave()
    done(null, payload)
  })
}

async function visitorOf(request: FastifyRequest): Promise<Payer | undefined> {
  const { method, routeOptions } = request
  const { url = '' } = routeOptions
  if (method !== 'GET' || !url.startsWith('/api/') || EXEMPT.test(url)) return undefined
  if (BY_LINK.test(url)) return { kind: 'visitor', key: networkOf(request.ip) }
  const caller = await request.caller()
  return caller.kind === 'anonymous' ? payerOf(caller) : undefined
}

/** Waits for a place in the pool, which the request has until its answer is made or its client has gone. */
function enter(request: FastifyRequest, reply: FastifyReply, visit: Omit<Visit, 'leave'>): Promise<void> {
  return new Promise((entered, refused) => {
    const work = (): Promise<void> =>
      new Promise((leave) => {
        visits.set(request, { ...visit, leave })
        reply.raw.once('close', leave)
        if (reply.raw.closed) leave()
        entered()
      })
    visit.pool
      .run(visit.payer.key, work, () => reply.raw.closed)
      .catch((error) => delayRefusal().then(() => refused(error)))
  })
}

/** Counts points that were read, of which the answer may have only a few. */
export function countPoints(request: FastifyRequest, points: number): void {
  const visit = visits.get(request)
  visit?.budget.spend(visit.payer, points / POINTS_PER_COST)
}

/**
 * The parts of a streamed answer as they are sent. Others get their turn between them. A visitor gets a part when the
 * pool has a place and the budget owes nothing: an answer of any size is slow instead of refused, and one that is not
 * read takes no place.
 */
export function partsFor<T extends string | Buffer>(
  { request, raw }: FastifyReply,
  parts: AsyncGenerator<T>,
): AsyncGenerator<T> {
  const visit = visits.get(request)
  return visit === undefined ? inTurns(parts) : visitorParts(visit, parts, () => raw.closed)
}

async function* visitorParts<T extends string | Buffer>(
  { payer, budget, pool }: Visit,
  parts: AsyncGenerator<T>,
  closed: () => boolean,
): AsyncGenerator<T> {
  try {
    while (await budget.wait(payer, 0, closed)) {
      const { done, value } = await pool.run(payer.key, () => parts.next(), closed)
      if (done === true) return
      budget.spend(payer, costOfBytes(value.length))
      yield value
    }
  } finally {
    await parts.return(undefined)
  }
}

/** How long a client waits for a refusal by its budget: one that asks again at once costs little. */
const REFUSAL_MS = 1_000
/** More refusals than this are not delayed. */
const MAX_DELAYED = 200
let delayed = 0

/** Waits before a refusal by a budget is sent. */
export async function delayRefusal(): Promise<void> {
  if (delayed >= MAX_DELAYED) return
  delayed++
  await sleep(REFUSAL_MS)
  delayed--
}
