import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { signInMethods, unlinkIdentity } from '../../domain/identities/index.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import type { IdentityProvider } from '../sign-in/identity-provider.ts'
import { requireRecent } from '../sign-in/require-proof.ts'

export const providerShape = z.object({ id: z.string(), name: z.string() })
const identityShape = z.object({
  id: z.uuid(),
  provider: providerShape.nullable().describe('Null if the provider is no longer configured'),
  issuer: z.string(),
  email: z.string().nullable().describe("The e-mail address in the provider's latest answer"),
  created_at: shapes.instant,
  last_used_at: shapes.instant,
})
const tags = ['identity']

interface Context {
  services: Services
  providers: readonly IdentityProvider[]
}

/** The identities that the caller can sign in with (contract §3); oauth.ts adds them. */
export function identityRoutes(
  app: FastifyInstance,
  services: Services,
  providers: readonly IdentityProvider[],
): void {
  addRoutes(app, { services, providers }, [listIdentitiesRoute, unlinkIdentityRoute])
}

function listIdentitiesRoute(routes: Routes, { services, providers }: Context): void {
  const { sql } = services
  routes.get(
    '/api/auth/identities',
    {
      ...personOnly,
      config: { beforeSecondFactor: true },
      schema: {
        tags,
        summary: 'My sign-in methods',
        querystring: shapes.nothing,
        response: { 200: z.object({ items: z.array(identityShape), password: z.boolean() }) },
      },
    },
    async (request) => {
      const { identities, password } = await signInMethods(sql, (await request.person()).user.id)
      const items = identities.map(({ id, issuer, email, createdAt, lastUsedAt }) => {
        const found = providers.find((one) => one.vouchesAs(issuer))
        const provider = found === undefined ? null : { id: found.id, name: found.name }
        return { id, provider, issuer, email, created_at: createdAt, last_used_at: lastUsedAt }
      })
      return { items, password }
    },
  )
}

function unlinkIdentityRoute(routes: Routes, { services }: Context): void {
  const { writer, now } = services
  routes.delete(
    '/api/auth/identities/:id',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Remove an identity from my account',
        querystring: shapes.nothing,
        params: shapes.byId,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await requireRecent(services, caller)
      await write(writer, (tx) => unlinkIdentity(tx, caller, request.params.id, now()))
      return reply.code(204).send(null)
    },
  )
}
