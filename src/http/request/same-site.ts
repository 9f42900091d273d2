import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { isOverTls } from './public-address.ts'

/** Where a request comes from, according to the browser: `own`, `foreign`, or undefined if it does not say. */
export type Provenance = 'own' | 'foreign' | 'unsaid'

/**
 * Reads `Sec-Fetch-Site`, which no page can forge, or else `Origin`: browsers send the first only to loopback names and
 * over TLS. An origin is ours if it is the public address or has the requested Host, unless it is plain HTTP while the
 * service is reached over TLS.
 */
export function provenance(request: FastifyRequest, config: Pick<Config, 'publicUrl'>): Provenance {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' ? 'own' : 'foreign'
  return originOf(request, config)
}

/** The same by `Origin` alone. */
export function originOf(request: FastifyRequest, config: Pick<Config, 'publicUrl'>): Provenance {
  const { origin, host } = request.headers
  if (origin === undefined) return 'unsaid'
  const claimed = parse(origin)
  if (claimed === undefined) return 'foreign'
  const home = config.publicUrl === undefined ? undefined : parse(config.publicUrl)
  if (claimed.origin === home?.origin) return 'own'
  if (isOverTls(config, request) && claimed.protocol !== 'https:') return 'foreign'
  return host !== undefined && claimed.host === parse(`${claimed.protocol}//${host}`)?.host
    ? 'own'
    : 'foreign'
}

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}
