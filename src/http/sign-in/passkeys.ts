import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  addPasskey,
  deletePasskey,
  listPasskeys,
  registrationOptions,
  renamePasskey,
  signInOptions,
  signInWithPasskey,
  takeSignIn,
  verifyRegistration,
} from '../../domain/passkeys/index.ts'
import { Problem } from '../../problem.ts'
import { write } from '../../stream/commit.ts'
import { type AttemptLimits, createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import type { Identification } from './guess.ts'
import { createdCredential, optionsShape, passkeyShape, signedCredential } from './passkey-shapes.ts'
import { partyOf, requireParty } from './relying-party.ts'
import { proof, requireProof, requireRecent } from './require-proof.ts'
import { noteFailure, openBrowserSession, sendSignedIn, signedIn } from './signed-in.ts'

/** How many sign-ins with a passkey one network may begin in a minute. */
const BEGUN_PER_MINUTE = 60

interface Context extends Identification {
  /** Limits how many sign-ins a network may begin. */
  starts: AttemptLimits
}

const tags = ['identity']
const own = { tags, querystring: shapes.nothing }
const open = { ...own, security: [] }

/** Passkeys: to register, list, rename and delete them, and to sign in with one (docs/api.md). */
export function passkeyRoutes(app: FastifyInstance, context: Identification): void {
  const starts = createAttemptLimits({ account: 0, address: BEGUN_PER_MINUTE })
  addRoutes(app, { ...context, starts }, [
    listPasskeysRoute,
    registrationOptionsRoute,
    addPasskeyRoute,
    renamePasskeyRoute,
    deletePasskeyRoute,
    signInOptionsRoute,
    signInRoute,
  ])
}

function listPasskeysRoute(routes: Routes, { services }: Context): void {
  const { sql } = services
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
            host: z
              .string()
              .nullable()
              .describe('The host name for new passkeys; null if passkeys do not work at this address'),
          }),
        },
      },
    },
    async (request) => {
      const items = await listPasskeys(sql, (await request.person()).user.id)
      const host = partyOf(services, request)?.id ?? null
      return { items: [...items], available: host !== null, host }
    },
  )
}

function registrationOptionsRoute(routes: Routes, context: Context): void {
  const { services } = context
  const { writer, now } = services
  routes.post(
    '/api/auth/passkeys/options',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Start registering a passkey: returns the options for the device',
        body: proof,
        response: { 200: optionsShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const party = requireParty(services, request)
      await requireProof(context, request, caller, request.body)
      const options = await write(writer, (tx) => registrationOptions(tx, caller, party, now()))
      return { ...options }
    },
  )
}

function addPasskeyRoute(routes: Routes, { services }: Context): void {
  const { writer, now } = services
  routes.post(
    '/api/auth/passkeys',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Register a passkey that the device has created',
        body: z.strictObject({ name: shapes.label, response: createdCredential }),
        response: { 201: passkeyShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const party = requireParty(services, request)
      const { name, response } = request.body
      const added = await write(writer, async (tx) => {
        const answer = response as unknown as RegistrationResponseJSON
        const passkey = await verifyRegistration(tx, caller, party, answer, now())
        return await addPasskey(tx, caller, { name, passkey }, now())
      })
      return reply.code(201).send(added)
    },
  )
}

function renamePasskeyRoute(routes: Routes, { services }: Context): void {
  const { writer, now } = services
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
      return write(writer, (tx) => renamePasskey(tx, caller, id, request.body.name, now()))
    },
  )
}

function deletePasskeyRoute(routes: Routes, { services }: Context): void {
  const { writer, now } = services
  routes.delete(
    '/api/auth/passkeys/:id',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Delete one of my passkeys',
        params: shapes.byId,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await requireRecent(services, caller)
      await write(writer, (tx) => deletePasskey(tx, caller, request.params.id, now()))
      return reply.code(204).send(null)
    },
  )
}

function signInOptionsRoute(routes: Routes, { services, starts }: Context): void {
  const { writer, now } = services
  routes.post(
    '/api/auth/login/passkey/options',
    {
      config: { needsNoCaller: true },
      schema: {
        ...open,
        summary: 'Start signing in with a passkey: returns the options for the device',
        body: shapes.noInput,
        response: { 200: optionsShape },
      },
    },
    async (request) => {
      starts.take({ address: request.ip }, now())
      const party = requireParty(services, request)
      const options = await write(writer, (tx) => signInOptions(tx, party, now()))
      return { ...options }
    },
  )
}

function signInRoute(routes: Routes, { services }: Context): void {
  const { writer, now } = services
  routes.post(
    '/api/auth/login/passkey',
    {
      config: { opensSession: true },
      schema: {
        ...open,
        summary: 'Sign in with a passkey, which replaces both the password and the second factor',
        body: z.strictObject({ response: signedCredential }),
        response: { 200: signedIn },
      },
    },
    async (request, reply) => {
      const party = requireParty(services, request)
      const response = request.body.response as unknown as AuthenticationResponseJSON
      const at = now()
      try {
        // In a transaction of its own, so the challenge is used up even if the answer is refused.
        const challenge = await write(writer, (tx) => takeSignIn(tx, response, at))
        const { user, session } = await write(writer, async (tx) => {
          const user = await signInWithPasskey(tx, party, response, challenge, at)
          return { user, session: await openBrowserSession(tx, request, user, 'passkey', at) }
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
