import type { FastifyRequest } from 'fastify'

/** Where a request comes from, according to the browser: `own`, `foreign`, or undefined if it does not say. */
export type Provenance = 'own' | 'foreign' | 'unsaid'

/**
 * Reads `Sec-Fetch-Site`, which no page can forge, or else `Origin`: browsers send the first only to loopback names and
 * over TLS. An origin is ours if it is the public address or has the requested Host, unless it is plain HTTP while the
 * service is reached over TLS.
 */
export function provenance(request: FastifyRequest, publicUrl: string | undefined): Provenance {
  const site = request.headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' ? 'own' : 'foreign'
  const { origin, host } = request.headers
  if (origin === undefined) return 'unsaid'
  const claimed = parse(origin)
  if (claimed === undefined) return 'foreign'
  const home = publicUrl === undefined ? undefined : parse(publicUrl)
  if (claimed.origin === home?.origin) return 'own'
  if (home?.protocol === 'https:' && claimed.protocol !== 'https:') return 'foreign'
  return host !== undefined && claimed.host === parse(`${claimed.protocol}//${host}`)?.host
    ? 'own'
    : 'foreign'
}

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}
