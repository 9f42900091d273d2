import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { cookieLifeS } from '../../domain/sessions/index.ts'
import { isOverTls } from '../request/public-address.ts'

/**
 * The full name of a cookie of ours and its attributes. Over TLS the prefix makes browsers refuse a cookie that another
 * host or plain HTTP tries to set. Below a path of the host the cookie is sent to that path only, which `__Host-` does not
 * allow: what else is on the host does not get it.
 */
export function cookieOf(name: 'svc_session' | 'svc_sign_in', request: FastifyRequest, config: Config) {
  const secure = isOverTls(config, request)
  // Lax: browsers send it with a link or a redirect from another site, but with no other request of one.
  const { basePath } = config
  const attributes = { path: `${basePath}/`, httpOnly: true, sameSite: 'lax', secure } as const
  const prefix = !secure ? '' : basePath === '' ? '__Host-' : '__Secure-'
  return { name: `${prefix}${name}` as const, attributes }
}
const ownCookie = (request: FastifyRequest, config: Config) => cookieOf('svc_session', request, config)

export const readSessionCookie = (request: FastifyRequest, config: Config): string | undefined =>
  request.cookies[ownCookie(request, config).name] || undefined

/** @param createdAt when the session was opened: the cookie expires with the session */
export function setSessionCookie(
  reply: FastifyReply,
  config: Config,
  value: string,
  createdAt: string,
  now: Date,
): void {
  const { name, attributes } = ownCookie(reply.request, config)
  reply.setCookie(name, value, { ...attributes, maxAge: cookieLifeS(createdAt, now) })
}

export function clearSessionCookie(reply: FastifyReply, config: Config): void {
  const { name, attributes } = ownCookie(reply.request, config)
  reply.clearCookie(name, attributes)
}
