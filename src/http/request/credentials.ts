import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireReader } from '../../domain/access.ts'
import { ANONYMOUS, type Caller, isPerson, type Known } from '../../domain/caller.ts'
import { type Session, sessionOfCookie, sessionOfJwt, touchSession } from '../../domain/sessions/index.ts'
import { findToken, tokenKind, touchToken } from '../../domain/tokens/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { networkOf } from '../server/network-of.ts'
import { readSessionCookie, setSessionCookie } from '../sign-in/session-cookie.ts'
import { provenance } from './same-site.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; read once a request. Throws `unauthenticated` for an invalid credential. */
    caller(): Promise<Caller>
    /** Any caller with a credential. Throws `unauthenticated` for anonymous callers. */
    known(): Promise<Known>
    /** A signed-in person: with a cookie or the JWT of a session. Throws `forbidden` for tokens of programs. */
    person(): Promise<Known>
    /** A signed-in administrator. Throws `forbidden` for all other callers with a credential. */
    administrator(): Promise<Known>
  }
  interface FastifyContextConfig {
    /** The route opens a session and does not use one, so the cookie of an old session has no effect. */
    opensSession?: boolean
    /** The route does not depend on the caller: it has its own proof, and cookies are ignored. */
    needsNoCaller?: boolean
    /** The route is open to people who have yet to set up the second factor that the service requires. */
    beforeSecondFactor?: boolean
  }
}

/**
 * Sets the caller of each request (contract §3). A bearer credential takes precedence over the cookie; an invalid one
 * is refused. A cookie of a session that has ended makes an anonymous caller. An unsafe request with a cookie must
 * prove that it comes from our own pages.
 */
export function identifyCallers(app: FastifyInstance, services: Services): void {
  const { config } = services
  app.decorateRequest('caller', async () => ANONYMOUS)
  app.decorateRequest('known', async function (this: FastifyRequest) {
    const caller = await this.caller()
    if (caller.kind === 'anonymous') throw new Problem('unauthenticated')
    return caller
  })
  app.decorateRequest('person', async function (this: FastifyRequest) {
    const caller = await this.known()
    if (!isPerson(caller))
      throw new Problem('forbidden', { detail: 'Tokens of programs may not do that: sign in' })
    return caller
  })
  app.decorateRequest('administrator', async function (this: FastifyRequest) {
    const caller = await this.known()
    if (caller.user.role === 'admin' && isPerson(caller)) return caller
    const detail = { method: this.method, route: this.routeOptions.url }
    const subject = `user:${caller.user.id}` as const
    await this.server.refusals.note(caller, this.ip, { action: 'administration.refused', subject, detail })
    return this.person().then(() => {
      throw new Problem('forbidden')
    })
  })
  app.addHook('onRequest', (request, reply, done) => {
    let found: Promise<Caller> | undefined
    request.caller = () => {
      found ??= identify(request, reply, services)
      return found
    }
    if (SAFE.has(request.method) || request.headers.authorization !== undefined) return done()
    if (request.routeOptions.config.needsNoCaller === true) return done()
    if (readSessionCookie(request, config) === undefined) return done()
    const from = provenance(request, config)
    // Every browser sends the origin of an unsafe request; a client without one is a program that sends a
    // cookie.
    const harmless = from === 'unsaid' && request.routeOptions.config.opensSession === true
    if (from !== 'own' && !harmless) done(new Problem('cross_site_request'))
    else done()
  })
}

/**
 * Route options that check the caller before the body is read, so an unknown caller learns nothing about valid input.
 */
export const personOnly = { onRequest: async (request: FastifyRequest) => void (await request.person()) }
export const readersOnly = {
  onRequest: async (request: FastifyRequest) => requireReader(await request.caller()),
}
export const administratorOnly = {
  onRequest: async (request: FastifyRequest) => void (await request.administrator()),
}

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

async function identify(request: FastifyRequest, reply: FastifyReply, services: Services): Promise<Caller> {
  const { authorization } = request.headers
  if (authorization !== undefined) return ofBearer(authorization, request, services)
  const cookie = readSessionCookie(request, services.config)
  const visitor: Caller = { kind: 'anonymous', network: networkOf(request.ip) }
  if (cookie === undefined) return visitor
  const now = services.now()
  const session = await sessionOfCookie(services.sql, cookie, now)
  if (session === undefined) return visitor
  if (session.stale) setSessionCookie(reply, services.config, cookie, session.createdAt, now)
  return ofSession(session, 'cookie', request, services, now)
}

async function ofBearer(authorization: string, request: FastifyRequest, services: Services): Promise<Known> {
  const text = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1]
  const caller = text === undefined ? undefined : await lookUp(text, request, services, services.now())
  if (caller === undefined) {
    throw new Problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })
  }
  return caller
}

async function lookUp(
  text: string,
  request: FastifyRequest,
  services: Services,
  now: Date,
): Promise<Known | undefined> {
  if (tokenKind(text) === undefined) {
    const session = await sessionOfJwt(services.sql, text, now)
    return session && ofSession(session, 'session', request, services, now)
  }
  const address = request.ip
  const token = await findToken(services.sql, text, now)
  if (token === undefined) return undefined
  if (token.stale) await write(services.writer, (tx) => touchToken(tx, token.id, now))
  if (token.commandId !== null) {
    const { user, id: credentialId, batchId } = token
    return { kind: 'known', user, via: 'rerun', credentialId, batchId, address }
  }
  const caller: Known = { kind: 'known', user: token.user, via: token.kind, credentialId: token.id, address }
  return token.agent === null ? caller : { ...caller, agent: token.agent }
}

async function ofSession(
  session: Session,
  via: 'cookie' | 'session',
  request: FastifyRequest,
  services: Services,
  now: Date,
): Promise<Known> {
  const address = request.ip
  const needsSecondFactor = services.config.requireSecondFactor && !session.hasSecondFactor
  if (needsSecondFactor && request.routeOptions.config.beforeSecondFactor !== true)
    throw new Problem('second_factor_setup_required')
  if (session.stale) await write(services.writer, (tx) => touchSession(tx, session.id, address, now))
  const caller: Known = { kind: 'known', user: session.user, via, credentialId: session.id, address }
  return needsSecondFactor ? { ...caller, needsSecondFactor } : caller
}
