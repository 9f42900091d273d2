import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { FastifyInstance } from 'fastify'
import { signInWithPasskey, takeSignIn } from '../../domain/passkeys/index.ts'
import { confirmSession } from '../../domain/sessions/index.ts'
import { Problem } from '../../problem.ts'
import { write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import type { Identification } from './guess.ts'
import { signedCredential } from './passkey-shapes.ts'
import { requireParty } from './relying-party.ts'
import { proof, requireProof } from './require-proof.ts'

/** Proves again who is signed in, before changes that need it (docs/api.md "Proving who you are"). */
export function confirmRoutes(app: FastifyInstance, context: Identification): void {
  addRoutes(app, context, [confirmRoute])
}

function confirmRoute(routes: Routes, context: Identification): void {
  const { services } = context
  const { writer, now } = services
  routes.post(
    '/api/auth/confirm',
    {
      ...personOnly,
      config: { beforeSecondFactor: true },
      schema: {
        tags: ['identity'],
        querystring: shapes.nothing,
        summary: 'Prove who I am, for changes that need a sign-in of the last 10 minutes',
        description:
          'With the password; with a code for an account with an authenticator app; or with a passkey, for a challenge of `POST /api/auth/login/passkey/options`.',
        body: proof.extend({ passkey: signedCredential.optional() }),
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { passkey, ...given } = request.body
      if (passkey === undefined) {
        await requireProof(context, request, caller, given)
        return reply.code(204).send(null)
      }
      const party = requireParty(services, request)
      const response = passkey as unknown as AuthenticationResponseJSON
      const at = now()
      // In a transaction of its own, so the challenge is used up even if the answer is refused.
      const challenge = await write(writer, (tx) => takeSignIn(tx, response, at))
      await write(writer, async (tx) => {
        const user = await signInWithPasskey(tx, party, response, challenge, at)
        if (user.id !== caller.user.id) throw new Problem('passkey_refused')
        return await confirmSession(tx, caller.credentialId, at)
      })
      return reply.code(204).send(null)
    },
  )
}
