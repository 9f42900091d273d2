import { z } from 'zod'
import { shapeOf } from '../../domain/field.ts'
import { passkeyFields } from '../../domain/passkeys/index.ts'

export const passkeyShape = shapeOf(passkeyFields)
const base64url = z.string().regex(/^[\w-]{1,16384}$/, 'must be base64url')
export const optionsShape = z
  .record(z.string(), z.unknown())
  .describe('WebAuthn options, for `navigator.credentials`')
/** The parts of the browser's answer that the library relies on; the library verifies the rest. */
const credential = <T extends z.ZodRawShape>(response: T) =>
  z.looseObject({
    id: base64url,
    rawId: base64url,
    type: z.literal('public-key'),
    response: z.looseObject({ clientDataJSON: base64url, ...response }),
    clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
  })
export const createdCredential = credential({ attestationObject: base64url })
export const signedCredential = credential({
  authenticatorData: base64url,
  signature: base64url,
  userHandle: base64url.optional(),
})
