import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../problem.ts'
import { networkOf } from '../server/network-of.ts'

/** Limits open streams by client address, which `SVC_TRUST_PROXY` determines. */
export interface StreamSlots {
  /**
   * Takes a slot until the answer is closed.
   * @throws Problem too_many_streams
   */
  take(request: FastifyRequest, reply: FastifyReply): void
}

/** Seconds after which a refused client may try again. */
const RETRY_AFTER_S = 15

export function createStreamSlots(perAddress: number): StreamSlots {
  const open = new Map<string, number>()
  return {
    take({ ip }, reply) {
      const network = networkOf(ip)
      const running = open.get(network) ?? 0
      if (running >= perAddress) {
        throw new Problem('too_many_streams', {
          retryAfterS: RETRY_AFTER_S,
          detail: `One client address may have at most ${perAddress} open streams (SVC_MAX_STREAMS_PER_ADDRESS)`,
        })
      }
      if (reply.raw.closed) return
      open.set(network, running + 1)
      reply.raw.once('close', () => {
        const left = (open.get(network) ?? 1) - 1
        if (left === 0) open.delete(network)
        else open.set(network, left)
      })
    },
  }
}
