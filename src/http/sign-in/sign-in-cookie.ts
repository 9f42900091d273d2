import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { ATTEMPT_LIFE_S } from '../../domain/identities/index.ts'
import { makeSecret } from '../../secrets.ts'

const overTls = (config: Config): boolean => config.publicUrl?.startsWith('https://') === true
const nameOf = (config: Config): string => (overTls(config) ? '__Host-svc_sign_in' : 'svc_sign_in')
// Lax: browsers send this cookie with the redirect from the provider, but with no other request of another
// site.
const attributes = (config: Config) =>
  ({ path: '/', httpOnly: true, sameSite: 'lax', secure: overTls(config) }) as const

/** The value that binds a sign-in to the browser that began it. */
export const readSignInCookie = (request: FastifyRequest, config: Config): string | undefined =>
  request.cookies[nameOf(config)] || undefined

/** Sets the browser's cookie, the same one for all its sign-ins, so that two tabs do not interfere. */
export function giveSignInCookie(request: FastifyRequest, reply: FastifyReply, config: Config): string {
  const existing = readSignInCookie(request, config)
  const value = existing !== undefined && /^[\w-]{43}$/.test(existing) ? existing : makeSecret(32)
  reply.setCookie(nameOf(config), value, { ...attributes(config), maxAge: ATTEMPT_LIFE_S })
  return value
}

export function clearSignInCookie(reply: FastifyReply, config: Config): void {
  reply.clearCookie(nameOf(config), attributes(config))
}
