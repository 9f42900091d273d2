import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { ATTEMPT_LIFE_S } from '../../domain/identities/index.ts'
import { makeSecret } from '../../secrets.ts'
import { cookieOf } from './session-cookie.ts'

const ownCookie = (request: FastifyRequest, config: Config) => cookieOf('svc_sign_in', request, config)

/** The value that binds a sign-in to the browser that began it. */
export const readSignInCookie = (request: FastifyRequest, config: Config): string | undefined =>
  request.cookies[ownCookie(request, config).name] || undefined

/** Sets the browser's cookie, the same one for all its sign-ins, so that two tabs do not interfere. */
export function giveSignInCookie(request: FastifyRequest, reply: FastifyReply, config: Config): string {
  const existing = readSignInCookie(request, config)
  const value = existing !== undefined && /^[\w-]{43}$/.test(existing) ? existing : makeSecret(32)
  const { name, attributes } = ownCookie(request, config)
  reply.setCookie(name, value, { ...attributes, maxAge: ATTEMPT_LIFE_S })
  return value
}

export function clearSignInCookie(reply: FastifyReply, config: Config): void {
  const { name, attributes } = ownCookie(reply.request, config)
  reply.clearCookie(name, attributes)
}
