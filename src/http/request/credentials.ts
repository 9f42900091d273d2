import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireReader } from '../../domain/access.ts'
import { ANONYMOUS, type Caller, isPerson, type Known } from '../../domain/caller.ts'
import { type Session, sessionOfCookie, sessionOfJwt, touchSession } from '../../domain/sessions/index.ts'
import { findToken, tokenKind, touchToken } from '../../domain/tokens/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { readSessionCookie, setSessionCookie } from '../sign-in/session-cookie.ts'
import { provenance } from './same-site.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; looked up once a request. Throws `unauthenticated` for a credential that is not good. */
    caller(): Promise<Caller>
    /** Any caller with a credential. Throws `unauthenticated` for anonymous callers. */
    known(): Promise<Known>
    /** A person, at a browser or with a session's JWT. Throws `forbidden` for tokens of programs. */
    person(): Promise<Known>
    /** An administrator in person. Throws `forbidden` for everyone else who is known. */
    administrator(): Promise<Known>
  }
  interface FastifyContextConfig {
    /** The route makes a session rather than using one, so a cookie that lies around gives it no power. */
    opensSession?: boolean
    /** The same answer for every caller: the route has its own proof, and a cookie gives no further rights. */
    needsNoCaller?: boolean
  }
}

/**
 * Gives each request its caller (contract §3). A bearer credential wins over the cookie, and a bad one is refused;
 * a cookie that opens nothing any more is merely anonymous. An unsafe request that relies on the cookie must prove
 * that it comes from our own pages.
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
    if (!isPerson(caller)) throw new Problem('forbidden', { detail: 'A token may not do that; sign in' })
    return caller
  })
  app.decorateRequest('administrator', async function (this: FastifyRequest) {
    const caller = await this.person()
    if (caller.user.role !== 'admin') throw new Problem('forbidden')
    return caller
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
    const from = provenance(request, config.publicUrl)
    // Every browser names the origin of an unsafe request; one that is silent is a program with a cookie jar.
    const harmless = from === 'unsaid' && request.routeOptions.config.opensSession === true
    if (from !== 'own' && !harmless) done(new Problem('cross_site_request'))
    else done()
  })
}

/** Route options that refuse before the body is read: an unknown caller learns nothing about what is valid. */
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
  if (authorization !== undefined) return ofBearer(authorization, request.ip, services)
  const cookie = readSessionCookie(request, services.config)
  if (cookie === undefined) return ANONYMOUS
  const now = services.now()
  const session = await sessionOfCookie(services.sql, cookie, now)
  if (session === undefined) return ANONYMOUS
  if (session.stale) setSessionCookie(reply, services.config, cookie, session.createdAt, now)
  return ofSession(session, 'cookie', request.ip, services, now)
}

async function ofBearer(authorization: string, address: string, services: Services): Promise<Known> {
  const text = /^bearer +([^\s]+) *$/i.exec(authorization)?.[1]
  const caller = text === undefined ? undefined : await lookUp(text, address, services, services.now())
  if (caller === undefined) {
    throw new Problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })
  }
  return caller
}

async function lookUp(
  text: string,
  address: string,
  services: Services,
  now: Date,
): Promise<Known | undefined> {
  if (tokenKind(text) === undefined) {
    const session = await sessionOfJwt(services.sql, text, now)
    return session && ofSession(session, 'session', address, services, now)
  }
  const token = await findToken(services.sql, text, now)
  if (token === undefined) return undefined
  if (token.stale) await note(services, (tx) => touchToken(tx, token.id, now))
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
  address: string,
  services: Services,
  now: Date,
): Promise<Known> {
  if (session.stale) await note(services, (tx) => touchSession(tx, session.id, address, now))
  return { kind: 'known', user: session.user, via, credentialId: session.id, address }
}

const note = (
  { writer }: Services,
  work: (tx: Parameters<Parameters<typeof commit>[1]>[0]) => Promise<void>,
) => commit(writer, async (tx) => ({ result: await work(tx), changes: [] }))
