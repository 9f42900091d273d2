import type { FastifyRequest } from 'fastify'

/** What a browser says about where a request comes from: `own`, `foreign`, or nothing at all. */
export type Provenance = 'own' | 'foreign' | 'unsaid'

/**
 * Reads `Sec-Fetch-Site`, which no page can forge; else `Origin`, because browsers send the first only to loopback
 * names and over TLS. An origin is ours when it is the public address or has the Host that was asked for, and is
 * not plain HTTP where we are known under TLS.
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
