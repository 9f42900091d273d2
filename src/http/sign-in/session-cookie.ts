import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { cookieLifeS } from '../../domain/sessions/index.ts'

const overTls = (config: Config): boolean => config.publicUrl?.startsWith('https://') === true
/** Over TLS the prefix makes browsers refuse a cookie that another host or plain HTTP tries to set. */
const nameOf = (config: Config): string => (overTls(config) ? '__Host-svc_session' : 'svc_session')

const attributes = (config: Config) =>
  ({ path: '/', httpOnly: true, sameSite: 'lax', secure: overTls(config) }) as const

export const readSessionCookie = (request: FastifyRequest, config: Config): string | undefined =>
  request.cookies[nameOf(config)] || undefined

/** @param createdAt when the session was opened: the cookie expires with the session */
export function setSessionCookie(
  reply: FastifyReply,
  config: Config,
  value: string,
  createdAt: string,
  now: Date,
): void {
  reply.setCookie(nameOf(config), value, { ...attributes(config), maxAge: cookieLifeS(createdAt, now) })
}

export function clearSessionCookie(reply: FastifyReply, config: Config): void {
  reply.clearCookie(nameOf(config), attributes(config))
}
