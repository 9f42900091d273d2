import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { ATTEMPT_LIFE_S } from '../../domain/identities/index.ts'
import { makeSecret } from '../../secrets.ts'

const overTls = (config: Config): boolean => config.publicUrl?.startsWith('https://') === true
const nameOf = (config: Config): string => (overTls(config) ? '__Host-svc_sign_in' : 'svc_sign_in')
// Lax: the browser comes back from the provider by a link, with this cookie, and with no other request of theirs.
const attributes = (config: Config) =>
  ({ path: '/', httpOnly: true, sameSite: 'lax', secure: overTls(config) }) as const

/** What ties a sign-in to the browser that began it. */
export const readSignInCookie = (request: FastifyRequest, config: Config): string | undefined =>
  request.cookies[nameOf(config)] || undefined

/** Gives the browser its cookie, the same one for all sign-ins that it has begun: two tabs do not undo each other. */
export function giveSignInCookie(request: FastifyRequest, reply: FastifyReply, config: Config): string {
  const existing = readSignInCookie(request, config)
  const value = existing !== undefined && /^[\w-]{43}$/.test(existing) ? existing : makeSecret(32)
  reply.setCookie(nameOf(config), value, { ...attributes(config), maxAge: ATTEMPT_LIFE_S })
  return value
}

export function clearSignInCookie(reply: FastifyReply, config: Config): void {
  reply.clearCookie(nameOf(config), attributes(config))
}
