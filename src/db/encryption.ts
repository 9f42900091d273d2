import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'

/**
 * Encryption of backups in the age format (age-encryption.org/v1), which the command `age` reads too. Every chunk of 64
 * KiB is authenticated, so streams are processed in constant memory, and altered or truncated data is refused at that
 * point.
 */
const MAGIC = 'age-encryption.org/v1\n'
/** Cost of deriving the key from a passphrase: age's default, about a second. */
const WORK_FACTOR = 18

export type Bytes = AsyncIterable<Uint8Array>

/** A step of a stream pipeline. */
export type ByteTransform = (source: Bytes) => AsyncGenerator<Buffer>

/** Who can decrypt the data: anyone who knows the passphrase, or the holder of the recipient's key (`age1…`). */
export type EncryptionTarget = { passphrase: string; workFactor?: number } | { recipient: string }
export type DecryptionKey = { passphrase: string } | { identity: string }

export function encrypting(lock: EncryptionTarget): ByteTransform {
  const encrypter = new Encrypter()
  if ('passphrase' in lock) {
    encrypter.setScryptWorkFactor(lock.workFactor ?? WORK_FACTOR)
    encrypter.setPassphrase(lock.passphrase)
  } else encrypter.addRecipient(lock.recipient)
  return async function* (source) {
    yield* buffersOf(await encrypter.encrypt(webStreamOf(source)))
  }
}

/** @throws EncryptionError when the key is wrong, or the data was altered */
export function decrypting(key: DecryptionKey): ByteTransform {
  const decrypter = new Decrypter()
  if ('passphrase' in key) decrypter.addPassphrase(key.passphrase)
  else decrypter.addIdentity(key.identity)
  return async function* (source) {
    try {
      yield* buffersOf(await decrypter.decrypt(webStreamOf(source)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== undefined) throw error // reading the source failed
      throw new EncryptionError((error as Error).message, { cause: error })
    }
  }
}

export class EncryptionError extends Error {
  /** Whether the key is wrong; otherwise the data was altered. */
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

/** Creates a key pair. */
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
