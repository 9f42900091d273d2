import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { shareOfMemory } from '../../memory.ts'
import { Problem } from '../../problem.ts'
import { networkOf } from './network-of.ts'
import { sendProblem } from './respond.ts'

/** A body that takes longer than the timeout must arrive at this average rate, in bytes a second. */
const MIN_RATE = 16 * 1024
const CHECK_EVERY_MS = 500
/** If an address has too many requests, its oldest are ended, but only after this time. */
const YOUNG_MS = 2_000
/** The memory that all arriving bodies may take together. */
const MAX_BYTES = shareOfMemory(1 / 8, 256 * 1024 * 1024)

export interface SlowBodies {
  /** Requests whose body is still arriving. */
  readonly waiting: number
  /** How many were ended because their body was too slow, or to make room for others. */
  readonly timedOut: number
}

interface Waiting {
  request: FastifyRequest
  reply: FastifyReply
  network: string
  since: number
  /** `bytesRead` of the socket when the request arrived. */
  readBefore: number
}

/**
 * Ends requests whose body does not arrive within `timeoutS` seconds or at `MIN_RATE`, with 408 `request_timeout`, and
 * closes their connection. At most `perAddress` bodies of one address may be arriving; beyond that, and if all bodies
 * together take too much memory, the oldest requests are ended first, so a client that delays its bodies harms only
 * itself. The same limits hold for a body that is not read because its request was refused.
 */
export function limitBodyTime(
  app: FastifyInstance,
  limits: { timeoutS: number; perAddress: number },
): SlowBodies {
  // In the order of arrival.
  const waiting = new Map<FastifyRequest['raw'], Waiting>()
  const counts = { timedOut: 0 }

  app.addHook('onRequest', (request, reply, done) => {
    const { headers, raw } = request
    if (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0') {
      waiting.set(raw, {
        request,
        reply,
        network: networkOf(request.ip),
        since: performance.now(),
        readBefore: raw.socket.bytesRead,
      })
    }
    done()
  })
  app.addHook('preValidation', ({ raw }, _reply, done) => {
    waiting.delete(raw)
    done()
  })

  function look(): void {
    for (const raw of waiting.keys()) if (raw.complete || raw.socket.destroyed) waiting.delete(raw)
    for (const one of tooSlow([...waiting.values()], limits)) end(one)
  }

  function end({ request, reply }: Waiting): void {
    waiting.delete(request.raw)
    counts.timedOut++
    const { socket } = request.raw
    if (reply.sent) {
      socket.destroy()
      return
    }
    sendProblem(reply.header('connection', 'close'), new Problem('request_timeout'))
    // The answer is small; a client that does not read it loses the connection.
    setTimeout(() => socket.destroy(), 1_000).unref()
  }

  const looking = setInterval(look, CHECK_EVERY_MS)
  looking.unref()
  app.addHook('onClose', () => clearInterval(looking))
  return {
    get waiting() {
      return waiting.size
    },
    get timedOut() {
      return counts.timedOut
    },
  }
}

/** @param waiting requests whose body is still arriving, oldest first. @returns those to end */
function tooSlow(
  waiting: readonly Waiting[],
  { timeoutS, perAddress }: { timeoutS: number; perAddress: number },
): Set<Waiting> {
  const now = performance.now()
  const slow = new Set<Waiting>()
  let bytes = 0
  for (const one of waiting) {
    const read = bytesOf(one)
    bytes += read
    if (now - one.since > timeoutS * 1000 + (read / MIN_RATE) * 1000) slow.add(one)
  }
  const newerOf = new Map<string, number>()
  for (const one of waiting.toReversed()) {
    const newer = newerOf.get(one.network) ?? 0
    newerOf.set(one.network, newer + 1)
    if (newer >= perAddress && now - one.since > YOUNG_MS) slow.add(one)
  }
  for (const one of waiting) {
    if (bytes <= MAX_BYTES) break
    bytes -= bytesOf(one)
    slow.add(one)
  }
  return slow
}

const bytesOf = ({ request, readBefore }: Waiting): number => request.raw.socket.bytesRead - readBefore
