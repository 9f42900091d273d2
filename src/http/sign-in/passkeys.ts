import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { signInMethods } from '../../domain/identities/index.ts'
import {
  addPasskey,
  deletePasskey,
  listPasskeys,
  type Passkey,
  type RelyingParty,
  registrationOptions,
  renamePasskey,
  signInOptions,
  signInWithPasskey,
  takeSignIn,
  verifyRegistration,
} from '../../domain/passkeys/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import * as shapes from '../request/shapes.ts'
import { confirmPassword } from './confirm-password.ts'
import type { SignInLimiter } from './sign-in-limiter.ts'
import { noteFailure, openBrowserSession, sendSignedIn, signedIn } from './signed-in.ts'

const passkeyShape = z.object({
  id: z.uuid(),
  name: z.string(),
  host: z.string().describe('The host that it opens'),
  backed_up: z.boolean().describe('Whether the device keeps a copy elsewhere, such as in a cloud keychain'),
  created_at: shapes.instant,
  last_used_at: shapes.instant.nullable(),
})
const show = (passkey: Passkey): z.output<typeof passkeyShape> => ({
  id: passkey.id,
  name: passkey.name,
  host: passkey.rpId,
  backed_up: passkey.backedUp,
  created_at: passkey.createdAt,
  last_used_at: passkey.lastUsedAt,
})

const base64url = z.string().regex(/^[\w-]{1,16384}$/, 'must be base64url')
const optionsShape = z
  .record(z.string(), z.unknown())
  .describe('As WebAuthn has it, for `navigator.credentials`')
/** What the browser answers, as far as it must hold; the library judges the rest. */
const credential = <T extends z.ZodRawShape>(response: T) =>
  z.looseObject({
    id: base64url,
    rawId: base64url,
    type: z.literal('public-key'),
    response: z.looseObject({ clientDataJSON: base64url, ...response }),
    clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
  })
const created = credential({ attestationObject: base64url })
const signed = credential({
  authenticatorData: base64url,
  signature: base64url,
  userHandle: base64url.optional(),
})

/** Sign-ins with a passkey that one address may begin in a minute. */
const BEGUN_PER_MINUTE = 60

/** Passkeys: to register, list, rename and delete them, and to sign in with one (docs/api.md). */
export function passkeyRoutes(app: FastifyInstance, services: Services, guesses: SignInLimiter): void {
  const { config, sql, writer, now } = services
  const routes = app.withTypeProvider<ZodTypeProvider>()
  const tags = ['identity']
  const own = { tags, querystring: shapes.nothing }
  const open = { ...own, security: [] }
  const starts = createAttemptLimits({ account: 0, address: BEGUN_PER_MINUTE })

  /** The host that passkeys are for: that of the public address, else the one that was asked for. */
  function partyOf(request: FastifyRequest): RelyingParty | undefined {
    const home = config.publicUrl ?? `${request.protocol}://${request.headers.host}`
    if (!URL.canParse(home)) return undefined
    const { protocol, hostname, origin } = new URL(home)
    const secure = protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
    return secure && isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : undefined
  }
  function requireParty(request: FastifyRequest): RelyingParty {
    const party = partyOf(request)
    if (party === undefined) throw new Problem('passkeys_unavailable')
    return party
  }

  routes.get(
    '/api/auth/passkeys',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'My passkeys, oldest first, and whether they work at this address',
        response: {
          200: z.object({
            items: z.array(passkeyShape),
            available: z.boolean(),
            host: z.string().nullable().describe('The host that new ones are for; null where none work'),
          }),
        },
      },
    },
    async (request) => {
      const items = await listPasskeys(sql, (await request.person()).user.id)
      const host = partyOf(request)?.id ?? null
      return { items: items.map(show), available: host !== null, host }
    },
  )

  routes.post(
    '/api/auth/passkeys/options',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Begin to register a passkey: what to ask the device for',
        body: z.strictObject({
          current_password: shapes.triedPassword
            .optional()
            .describe('Required for an account that has a password'),
        }),
        response: { 200: optionsShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const party = requireParty(request)
      const { current_password: password } = request.body
      if (password !== undefined) await confirmPassword(services, guesses, { request, caller, password })
      else if ((await signInMethods(sql, caller.user.id)).password) {
        const errors = [
          { path: 'current_password', message: 'is required for an account that has a password' },
        ]
        throw new Problem('invalid_body', { errors })
      }
      reply.header('cache-control', 'no-store')
      const options = await commit(writer, async (tx) => ({
        result: await registrationOptions(tx, caller, party, now()),
        changes: [],
      }))
      return { ...options }
    },
  )

  routes.post(
    '/api/auth/passkeys',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Register the passkey that the device made',
        body: z.strictObject({ name: shapes.label, response: created }),
        response: { 201: passkeyShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const party = requireParty(request)
      const { name, response } = request.body
      const added = await commit(writer, async (tx) => {
        const answer = response as unknown as RegistrationResponseJSON
        const passkey = await verifyRegistration(tx, caller, party, answer, now())
        return { result: await addPasskey(tx, caller, { name, passkey }, now()), changes: [] }
      })
      return reply.code(201).send(show(added))
    },
  )

  routes.patch(
    '/api/auth/passkeys/:id',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Rename one of my passkeys',
        params: shapes.byId,
        body: z.strictObject({ name: shapes.label }),
        response: { 200: passkeyShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { id } = request.params
      const renamed = await commit(writer, async (tx) => ({
        result: await renamePasskey(tx, caller, id, request.body.name, now()),
        changes: [],
      }))
      return show(renamed)
    },
  )

  routes.delete(
    '/api/auth/passkeys/:id',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Delete one of my passkeys: it opens nothing from then on',
        params: shapes.byId,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, async (tx) => ({
        result: await deletePasskey(tx, caller, request.params.id, now()),
        changes: [],
      }))
      return reply.code(204).send(null)
    },
  )

  routes.post(
    '/api/auth/login/passkey/options',
    {
      config: { needsNoCaller: true },
      schema: {
        ...open,
        summary: 'Begin to sign in with a passkey: what to ask the device for',
        body: shapes.noInput,
        response: { 200: optionsShape },
      },
    },
    async (request, reply) => {
      starts.take({ address: request.ip }, now())
      const party = requireParty(request)
      reply.header('cache-control', 'no-store')
      const options = await commit(writer, async (tx) => ({
        result: await signInOptions(tx, party, now()),
        changes: [],
      }))
      return { ...options }
    },
  )

  routes.post(
    '/api/auth/login/passkey',
    {
      config: { opensSession: true },
      schema: {
        ...open,
        summary: 'Sign in with a passkey, which replaces both the password and the second factor',
        body: z.strictObject({ response: signed }),
        response: { 200: signedIn },
      },
    },
    async (request, reply) => {
      const party = requireParty(request)
      const response = request.body.response as unknown as AuthenticationResponseJSON
      const at = now()
      try {
        // Used up in a transaction of its own: a refused answer cannot be sent again.
        const challenge = await commit(writer, async (tx) => ({
          result: await takeSignIn(tx, response, at),
          changes: [],
        }))
        const { user, session } = await commit(writer, async (tx) => {
          const user = await signInWithPasskey(tx, party, response, challenge, at)
          return {
            result: { user, session: await openBrowserSession(tx, request, user, 'passkey', at) },
            changes: [],
          }
        })
        return sendSignedIn(reply, services, user, session, at)
      } catch (error) {
        if (error instanceof Problem && error.status < 500)
          await noteFailure(services, request, undefined, { method: 'passkey', reason: error.code })
        throw error
      }
    },
  )
}
