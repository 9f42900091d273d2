import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'

/**
 * Encryption of backups, in the age format (age-encryption.org/v1): the command `age` reads it too. It is authenticated in
 * chunks of 64 KiB, so a stream needs no memory, and what was altered or truncated is refused where it was.
 */
const MAGIC = 'age-encryption.org/v1\n'
/** The cost of trying a passphrase: age's own, about a second. */
const WORK_FACTOR = 18

export type Bytes = AsyncIterable<Uint8Array>

/** Turns bytes into others, as a step of a pipeline. */
export type Step = (source: Bytes) => AsyncGenerator<Buffer>

/** Who may read what is written: all that know a passphrase, or that hold the key of a recipient (`age1…`). */
export type Lock = { passphrase: string; workFactor?: number } | { recipient: string }
export type Key = { passphrase: string } | { identity: string }

export function encrypting(lock: Lock): Step {
  const encrypter = new Encrypter()
  if ('passphrase' in lock) {
    encrypter.setScryptWorkFactor(lock.workFactor ?? WORK_FACTOR)
    encrypter.setPassphrase(lock.passphrase)
  } else encrypter.addRecipient(lock.recipient)
  return async function* (source) {
    yield* buffersOf(await encrypter.encrypt(webStreamOf(source)))
  }
}

/** @throws EncryptionError when the key is another, or the bytes are not as they were written */
export function decrypting(key: Key): Step {
  const decrypter = new Decrypter()
  if ('passphrase' in key) decrypter.addPassphrase(key.passphrase)
  else decrypter.addIdentity(key.identity)
  return async function* (source) {
    try {
      yield* buffersOf(await decrypter.decrypt(webStreamOf(source)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== undefined) throw error // reading failed
      throw new EncryptionError((error as Error).message, { cause: error })
    }
  }
}

export class EncryptionError extends Error {
  /** Whether the key does not fit, rather than that the bytes were altered. */
  readonly wrongKey = /no identity matched|passphrase/i.test(this.message)
}

export async function isEncrypted(file: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const head = Buffer.alloc(MAGIC.length)
    const { bytesRead } = await handle.read(head, 0, head.length, 0)
    return head.subarray(0, bytesRead).toString('latin1') === MAGIC
  } finally {
    await handle.close()
  }
}

/** A new key, and what encrypts for it. */
export async function makeIdentity(): Promise<{ identity: string; recipient: string }> {
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

export const recipientOf = identityToRecipient

function webStreamOf(source: Bytes): ReadableStream<Uint8Array> {
  return Readable.toWeb(Readable.from(source, { objectMode: false })) as ReadableStream<Uint8Array>
}

async function* buffersOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const chunk of Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0]))
    yield Buffer.from(chunk as Uint8Array)
}
