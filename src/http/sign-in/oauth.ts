import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { isPerson } from '../../domain/caller.ts'
import {
  type Attempt,
  type Claimed,
  consumeAttempt,
  isAllowed,
  linkIdentity,
  signInMethods,
  signInWith,
  storeAttempt,
} from '../../domain/identities/index.ts'
import { Problem, type ProblemCode } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { identityRoutes, providerShape } from '../account/identities.ts'
import { createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import * as shapes from '../request/shapes.ts'
import { IN_ADDRESSES } from '../server/refusals.ts'
import { toProblem } from '../server/respond.ts'
import { wantsHtml } from '../server/web.ts'
import { confirmPassword } from './confirm-password.ts'
import { createIdentityProvider, type IdentityProvider } from './identity-provider.ts'
import { isReturnPath, locationOf } from './return-path.ts'
import { setSessionCookie } from './session-cookie.ts'
import { clearSignInCookie, giveSignInCookie, readSignInCookie } from './sign-in-cookie.ts'
import type { SignInLimiter } from './sign-in-limiter.ts'
import { openBrowserSession } from './signed-in.ts'

/**
 * Why a sign-in failed, as a word in the page's address. Always one of these words, never a text that
 * came from elsewhere.
 */
export const SIGN_IN_FAULTS: readonly ProblemCode[] = [
  ...IN_ADDRESSES,
  'provider_unavailable',
  'email_taken',
  'registration_closed',
  'account_disabled',
  'too_many_attempts',
  'unavailable',
  'overloaded',
  'internal',
]

/** Sign-ins that one address may begin in a minute; each is kept for ten. */
const BEGUN_PER_MINUTE = 120

const byProvider = z.object({ idp: z.string() })
const elsewhere = z.null().describe('To the address in `Location`')

/** Signing in through identity providers (contract §3, specification §4.4). */
export function oauthRoutes(app: FastifyInstance, services: Services, guesses: SignInLimiter): void {
  const { config, sql, writer, now, log } = services
  const routes = app.withTypeProvider<ZodTypeProvider>()
  const providers = config.identityProviders.map((one) => createIdentityProvider(one, now))
  const starts = createAttemptLimits({ account: 0, address: BEGUN_PER_MINUTE })
  const tags = ['identity']
  identityRoutes(app, services, providers)

  const providerOf = (id: string): IdentityProvider => {
    const found = providers.find((one) => one.id === id)
    if (found === undefined) throw new Problem('provider_not_found')
    return found
  }

  /** Keeps what the way back is checked against, and answers where to go. */
  async function begin(
    request: FastifyRequest,
    reply: FastifyReply,
    provider: IdentityProvider,
    wanted: Pick<Attempt, 'returnTo' | 'linkUserId'>,
  ): Promise<string> {
    starts.take({ address: request.ip }, now())
    const home = config.publicUrl ?? `${request.protocol}://${request.headers.host}`
    const redirectUri = `${home}/api/oauth/${provider.id}/callback`
    const { url, checks } = await provider.begin(redirectUri)
    const browser = giveSignInCookie(request, reply, config)
    const { state, nonce, codeVerifier } = checks
    const attempt: Attempt = { idp: provider.id, nonce, codeVerifier, redirectUri, ...wanted }
    await commit(writer, async (tx) => ({
      result: await storeAttempt(tx, attempt, { state, browser }, now()),
      changes: [],
    }))
    reply.header('cache-control', 'no-store')
    return url.href
  }

  /** Back to the page, with the reason in its address and, where it was no person's doing, in the log. */
  function giveUp(
    reply: FastifyReply,
    error: unknown,
    { id }: IdentityProvider,
    attempt: Pick<Attempt, 'returnTo' | 'linkUserId'> | undefined,
  ): FastifyReply {
    const problem = toProblem(error)
    const code = SIGN_IN_FAULTS.includes(problem.code) ? problem.code : 'internal'
    const context = { idp: id, code, request_id: reply.request.id }
    if (problem.status >= 500) log.error({ ...context, err: problem.cause ?? problem }, problem.title)
    else if (code === 'sign_in_unverified')
      log.warn({ ...context, err: problem.cause ?? problem }, problem.title)
    const linking = attempt !== undefined && attempt.linkUserId !== null
    const query = new URLSearchParams({ error: code, idp: id })
    if (attempt !== undefined && !linking && attempt.returnTo !== '/')
      query.set('return_to', attempt.returnTo)
    return reply.redirect(`${linking ? '/account' : '/sign-in'}?${query}`)
  }

  /** Takes up what was begun in this browser with this provider, once. */
  async function takeUp(request: FastifyRequest, provider: IdentityProvider) {
    const query = request.url.slice(request.url.indexOf('?'))
    const [state, ...more] = new URLSearchParams(query).getAll('state')
    const browser = readSignInCookie(request, config)
    if (!state || more.length > 0 || browser === undefined) throw new Problem('sign_in_expired')
    const attempt = await commit(writer, async (tx) => ({
      result: await consumeAttempt(tx, provider.id, { state, browser }, now()),
      changes: [],
    }))
    return { attempt, state, query }
  }

  async function signIn(
    request: FastifyRequest,
    reply: FastifyReply,
    provider: IdentityProvider,
    claimed: Claimed,
  ): Promise<void> {
    // Who limits a provider to domains has said whose accounts may be made.
    const registration = provider.allow.length > 0 ? 'open' : config.registration
    const at = now()
    const session = await commit(writer, async (tx) => {
      const user = await signInWith(tx, claimed, registration, at)
      return {
        result: await openBrowserSession(tx, request, user, 'provider', at, { provider: provider.id }),
        changes: [],
      }
    })
    setSessionCookie(reply, config, session.cookie, at.toISOString(), at)
  }

  /** Links to the signed-in account, if the same account started the sign-in. */
  async function link(request: FastifyRequest, claimed: Claimed, userId: string): Promise<void> {
    const caller = await request.caller()
    if (!isPerson(caller) || caller.user.id !== userId) throw new Problem('sign_in_not_linked')
    await commit(writer, async (tx) => ({
      result: await linkIdentity(tx, caller, claimed, now()),
      changes: [],
    }))
  }

  routes.get(
    '/api/oauth',
    {
      schema: {
        tags,
        security: [],
        summary: 'Where else one may sign in',
        querystring: shapes.nothing,
        response: { 200: z.object({ items: z.array(providerShape) }) },
      },
    },
    async () => ({ items: providers.map(({ id, name }) => ({ id, name })) }),
  )

  routes.get(
    '/api/oauth/:idp/start',
    {
      exposeHeadRoute: false,
      schema: {
        tags,
        security: [],
        summary: 'Sign in through an identity provider: sends the browser there',
        params: byProvider,
        querystring: z.strictObject({
          return_to: z
            .string()
            .refine(isReturnPath, 'must be a path of this service, such as /p/vision')
            .default('/')
            .describe('Where to go once signed in'),
        }),
        response: { 302: elsewhere },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.idp)
      const wanted = { returnTo: locationOf(request.query.return_to), linkUserId: null }
      try {
        return reply.redirect(await begin(request, reply, provider, wanted))
      } catch (error) {
        if (!wantsHtml(request)) throw error
        return giveUp(reply, error, provider, wanted)
      }
    },
  )

  routes.get(
    '/api/oauth/:idp/callback',
    {
      exposeHeadRoute: false,
      schema: {
        tags,
        security: [],
        summary:
          'Where the provider sends the browser back to; leads into the page, with `error` if it failed',
        params: byProvider,
        response: { 302: elsewhere },
      },
    },
    async (request, reply) => {
      const provider = providerOf(request.params.idp)
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      let attempt: Attempt | undefined
      try {
        const taken = await takeUp(request, provider)
        attempt = taken.attempt
        const answer = new URL(attempt.redirectUri)
        answer.search = taken.query
        const claimed = await provider.identify(answer, { ...attempt, state: taken.state })
        if (!isAllowed(claimed, provider.allow)) throw new Problem('sign_in_not_allowed')
        if (attempt.linkUserId !== null) {
          await link(request, claimed, attempt.linkUserId)
          return reply.redirect(`/account?${new URLSearchParams({ linked: provider.id })}`)
        }
        await signIn(request, reply, provider, claimed)
        clearSignInCookie(reply, config)
        return reply.redirect(attempt.returnTo)
      } catch (error) {
        return giveUp(reply, error, provider, attempt)
      }
    },
  )

  routes.post(
    '/api/oauth/:idp/link',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Add an identity to my account: answers where to send the browser',
        params: byProvider,
        querystring: shapes.nothing,
        body: z.strictObject({
          current_password: shapes.triedPassword
            .optional()
            .describe('Required for an account that has a password'),
        }),
        response: { 200: z.object({ url: z.string() }) },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const provider = providerOf(request.params.idp)
      const { current_password: password } = request.body
      if (password !== undefined) await confirmPassword(services, guesses, { request, caller, password })
      else if ((await signInMethods(sql, caller.user.id)).password) {
        const errors = [
          { path: 'current_password', message: 'is required for an account that has a password' },
        ]
        throw new Problem('invalid_body', { errors })
      }
      const wanted = { returnTo: '/account', linkUserId: caller.user.id }
      return { url: await begin(request, reply, provider, wanted) }
    },
  )
}
