import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../problem.ts'
import { sendProblem } from './respond.ts'

/** A body that is longer under way than the time-out must have come at this rate on average, in bytes a second. */
const MIN_RATE = 16 * 1024
const CHECK_EVERY_MS = 500
/** A body of an address that has too many under way is only given up for others after this time. */
const YOUNG_MS = 2_000
/** What bodies that are under way may hold in memory together. */
const MAX_BYTES = 256 * 1024 * 1024

export interface SlowBodies {
  /** Requests whose body is on its way. */
  readonly waiting: number
  /** How many were ended because their body came too slowly, or to make room for others. */
  readonly timedOut: number
}

interface Waiting {
  request: FastifyRequest
  reply: FastifyReply
  address: string
  since: number
  /** `bytesRead` of the socket when the request came. */
  readBefore: number
}

/**
 * Ends requests whose body does not come: after `timeoutS` seconds, unless it comes at `MIN_RATE`, with 408
 * `request_timeout` and the connection closed. One address may have `perAddress` bodies under way; beyond that, and
 * where all of them together hold too much memory, the oldest gives way to those that came later, so that a client that
 * holds back bodies hurts itself alone. A body that is not read because its request was refused has the same time.
 */
export function limitBodyTime(
  app: FastifyInstance,
  limits: { timeoutS: number; perAddress: number },
): SlowBodies {
  // In the order in which they came.
  const waiting = new Map<FastifyRequest['raw'], Waiting>()
  const counts = { timedOut: 0 }

  app.addHook('onRequest', (request, reply, done) => {
    const { headers, raw } = request
    if (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0') {
      waiting.set(raw, {
        request,
        reply,
        address: request.ip,
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
    const now = performance.now()
    const late = new Set<Waiting>()
    const ofAddress = new Map<string, Waiting[]>()
    let bytes = 0
    for (const [raw, one] of waiting) {
      if (raw.complete || raw.socket.destroyed) {
        waiting.delete(raw)
        continue
      }
      const read = raw.socket.bytesRead - one.readBefore
      if (now - one.since > limits.timeoutS * 1000 + (read / MIN_RATE) * 1000) late.add(one)
      bytes += read
      const others = ofAddress.get(one.address)
      if (others === undefined) ofAddress.set(one.address, [one])
      else others.push(one)
    }
    for (const some of ofAddress.values()) {
      const surplus = some.slice(0, Math.max(0, some.length - limits.perAddress))
      for (const one of surplus) if (now - one.since > YOUNG_MS) late.add(one)
    }
    for (const one of waiting.values()) {
      if (bytes <= MAX_BYTES) break
      bytes -= one.request.raw.socket.bytesRead - one.readBefore
      late.add(one)
    }
    for (const one of late) end(one)
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
