import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { RelyingParty } from '../../domain/passkeys/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { publicAddress } from '../request/public-address.ts'

/**
 * The host that passkeys are for: the one of `SVC_PUBLIC_URL`, else the one of the request. Undefined where browsers
 * allow no passkeys: without HTTPS, and at an IP address.
 */
export function partyOf({ config }: Services, request: FastifyRequest): RelyingParty | undefined {
  const home = publicAddress(config, request)
  if (!URL.canParse(home)) return undefined
  const { protocol, hostname, origin } = new URL(home)
  const secure = protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
  return secure && isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : undefined
}

/** @throws Problem passkeys_unavailable */
export function requireParty(services: Services, request: FastifyRequest): RelyingParty {
  const party = partyOf(services, request)
  if (party === undefined) throw new Problem('passkeys_unavailable')
  return party
}
