import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Attempt, isAllowed } from '../../domain/identities/index.ts'
import { Problem } from '../../problem.ts'
import { identityRoutes, providerShape } from '../account/identities.ts'
import { createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { wantsHtml } from '../server/web.ts'
import type { Identification } from './guess.ts'
import { createIdentityProvider } from './identity-provider.ts'
import {
  begin,
  consume,
  link,
  type ProviderContext,
  providerOf,
  redirectWithError,
  signIn,
} from './provider-sign-in.ts'
import { proof, requireProof } from './require-proof.ts'
import { isReturnPath, locationOf } from './return-path.ts'
import { clearSignInCookie } from './sign-in-cookie.ts'

/** How many sign-ins one network may begin in a minute; each is kept for ten minutes. */
const BEGUN_PER_MINUTE = 120

const byProvider = z.object({ idp: z.string() })
const elsewhere = z.null().describe('Redirect to the address in `Location`')

const tags = ['identity']

/** Sign-in through identity providers (contract §3, specification §4.4). */
export function oauthRoutes(app: FastifyInstance, context: Identification): void {
  const { services } = context
  const providers = services.config.identityProviders.map((one) => createIdentityProvider(one, services.now))
  const starts = createAttemptLimits({ account: 0, address: BEGUN_PER_MINUTE })
  identityRoutes(app, services, providers)
  addRoutes(app, { ...context, providers, starts }, [
    listProvidersRoute,
    startRoute,
    callbackRoute,
    linkRoute,
  ])
}

function listProvidersRoute(routes: Routes, { providers }: ProviderContext): void {
  routes.get(
    '/api/oauth',
    {
      schema: {
        tags,
        security: [],
        summary: 'The configured identity providers',
        querystring: shapes.nothing,
        response: { 200: z.object({ items: z.array(providerShape) }) },
      },
    },
    async () => ({ items: providers.map(({ id, name }) => ({ id, name })) }),
  )
}

function startRoute(routes: Routes, context: ProviderContext): void {
  const { services, providers } = context
  routes.get(
    '/api/oauth/:idp/start',
    {
      exposeHeadRoute: false,
      schema: {
        tags,
        security: [],
        summary: 'Sign in through an identity provider: redirects the browser to it',
        params: byProvider,
        querystring: z.strictObject({
          return_to: z
            .string()
            .refine(isReturnPath, 'must be a path of this service, such as /p/vision')
            .default('/')
            .describe('The path to open after the sign-in'),
        }),
        response: { 302: elsewhere },
      },
    },
    async (request, reply) => {
      const provider = providerOf(providers, request.params.idp)
      const wanted = { returnTo: locationOf(request.query.return_to), linkUserId: null }
      try {
        return reply.redirect(await begin(context, request, reply, provider, wanted))
      } catch (error) {
        if (!wantsHtml(request)) throw error
        return redirectWithError(services, reply, error, provider, wanted)
      }
    },
  )
}

function callbackRoute(routes: Routes, { services, providers }: ProviderContext): void {
  const { config } = services
  routes.get(
    '/api/oauth/:idp/callback',
    {
      exposeHeadRoute: false,
      schema: {
        tags,
        security: [],
        summary:
          'The redirect URI of the provider; redirects to the page, with `error` if the sign-in failed',
        params: byProvider,
        response: { 302: elsewhere },
      },
    },
    async (request, reply) => {
      const provider = providerOf(providers, request.params.idp)
      reply.header('referrer-policy', 'no-referrer')
      let attempt: Attempt | undefined
      try {
        const taken = await consume(services, request, provider)
        attempt = taken.attempt
        const answer = new URL(attempt.redirectUri)
        answer.search = taken.query
        const claimed = await provider.identify(answer, { ...attempt, state: taken.state })
        if (!isAllowed(claimed, provider.allow)) throw new Problem('sign_in_not_allowed')
        if (attempt.linkUserId !== null) {
          await link(services, request, claimed, attempt.linkUserId)
          return reply.redirect(`${config.basePath}/account?${new URLSearchParams({ linked: provider.id })}`)
        }
        await signIn(services, request, reply, provider, claimed)
        clearSignInCookie(reply, config)
        return reply.redirect(`${config.basePath}${attempt.returnTo}`)
      } catch (error) {
        return redirectWithError(services, reply, error, provider, attempt)
      }
    },
  )
}

function linkRoute(routes: Routes, context: ProviderContext): void {
  const { providers } = context
  routes.post(
    '/api/oauth/:idp/link',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Add an identity to my account: returns the address to open in the browser',
        params: byProvider,
        querystring: shapes.nothing,
        body: proof,
        response: { 200: z.object({ url: z.string() }) },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const provider = providerOf(providers, request.params.idp)
      await requireProof(context, request, caller, request.body)
      const wanted = { returnTo: '/account', linkUserId: caller.user.id }
      return { url: await begin(context, request, reply, provider, wanted) }
    },
  )
}
