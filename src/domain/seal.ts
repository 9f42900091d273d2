import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** The first byte of a stored secret: how the rest is stored. */
const CLEAR = 0
const SEALED = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The use of a secret; each has a key of its own. */
export type Purpose = 'second factor secrets' | 'channel secrets'

const keyFrom = (text: string, purpose: Purpose): Buffer =>
  Buffer.from(hkdfSync('sha256', text, 'svc', purpose, 32))

/**
 * A secret in its stored form: encrypted with AES-256-GCM under the service's key, and bound to its owner, so that it
 * cannot be decrypted in another owner's row. Without a key it is stored in plain text, as signing keys are.
 */
export function seal(secret: Buffer, owner: string, key: string | undefined, purpose: Purpose): Buffer {
  if (key === undefined) return Buffer.concat([Buffer.of(CLEAR), secret])
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyFrom(key, purpose), nonce).setAAD(Buffer.from(owner))
  const body = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([Buffer.of(SEALED), nonce, cipher.getAuthTag(), body])
}

/** The decrypted secret; undefined if it was encrypted with another key. */
export function unseal(
  stored: Buffer,
  owner: string,
  key: string | undefined,
  purpose: Purpose,
): Buffer | undefined {
  if (stored[0] === CLEAR) return stored.subarray(1)
  if (key === undefined) return undefined
  const nonce = stored.subarray(1, 1 + NONCE_BYTES)
  const tag = stored.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', keyFrom(key, purpose), nonce)
    .setAAD(Buffer.from(owner))
    .setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(stored.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}
