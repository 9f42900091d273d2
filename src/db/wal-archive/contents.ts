import { randomUUID } from 'node:crypto'
import { pipeline } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import {
  type Bytes,
  decrypting,
  EncryptionError,
  encrypting,
  makeIdentity,
  recipientOf,
} from '../encryption.ts'
import type { ArchiveStore } from './store.ts'

/**
 * The description of a base backup. An archive contains:
 *
 *   key.age                            with a passphrase: the key of all other files, encrypted with it
 *   base/<id>.json                     one base backup: BaseBackup, written last
 *   base/<id>.tar.gz[.age]             its data folder, as PostgreSQL streams it
 *   wal/<segment>.gz[.age]             a segment of the write-ahead log
 *   wal/<segment>.part.gz[.age]        the beginning of the newest segment
 *   objects/<location>/<file>.gz[.age] objects of archived batches (domain/cold), the manifest last
 */
export interface BaseBackup {
  format: 1
  id: string
  /** By the database's clock. A point in time to restore must be after `endedAt`. */
  startedAt: string
  endedAt: string
  /** The range of the write-ahead log that a restore needs at least. */
  start: string
  end: string
  timeline: number
  systemId: string
  /** The major version of PostgreSQL. */
  postgres: string
  segmentBytes: number
  bytes: number
}

/**
 * The time for those who look into the archive. Two databases that archive into one place may begin a base backup in the
 * same second, and one must not overwrite the other's.
 */
export const newBaseId = (now: Date): string =>
  `${now.toISOString().replace(/[-:]|\.\d+/g, '')}-${randomUUID().slice(0, 8)}`

export interface Archive {
  store: ArchiveStore
  encrypted: boolean
  /** The whole base backups, from the oldest to the newest. */
  bases(): Promise<BaseBackup[]>
  /** The segments: name, whether complete, and the file that holds it. */
  segments(): Promise<{ name: string; whole: boolean; file: string }[]>
  write(name: string, content: Bytes): Promise<void>
  /** The uncompressed bytes of a file. */
  read(name: string): Bytes
  /** The suffix of files that this archive writes. */
  suffix: string
}

const KEY = 'key.age'
const LEVEL = 2

/**
 * @param make whether to create an archive in an empty place
 * @throws Error in a sentence, when the passphrase is missing or wrong
 */
export async function openArchive(
  store: ArchiveStore,
  { passphrase, make }: { passphrase: string | undefined; make: boolean },
): Promise<Archive> {
  const known = await store.list('base')
  const key = await store.readText(KEY)
  if (key !== undefined && passphrase === undefined)
    throw new Error(
      `the archive ${store.place} is encrypted: SVC_BACKUP_PASSPHRASE is to hold its passphrase`,
    )
  if (key === undefined && passphrase !== undefined && known.length > 0)
    throw new Error(
      `the archive ${store.place} is not encrypted: unset SVC_BACKUP_PASSPHRASE, or begin another archive`,
    )
  let identity: string | undefined
  if (passphrase !== undefined) {
    if (key === undefined && !make) throw new Error(`${store.place} is no archive of this service`)
    identity = key === undefined ? await makeKey(store, passphrase) : await openKey(store, passphrase)
  }
  const encrypt = identity === undefined ? undefined : encrypting({ recipient: await recipientOf(identity) })
  const suffix = identity === undefined ? '.gz' : '.gz.age'
  return {
    store,
    encrypted: identity !== undefined,
    suffix,
    async bases() {
      const names = (await store.list('base')).filter((name) => name.endsWith('.json'))
      const texts = await Promise.all(names.map((name) => store.readText(`base/${name}`)))
      const bases = texts.flatMap((text) => (text === undefined ? [] : [JSON.parse(text) as BaseBackup]))
      return bases.sort((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt))
    },
    async segments() {
      const names = await store.list('wal')
      return names.flatMap((file) => {
        const [, name, part] = /^([0-9A-F]{24})(\.part)?\.gz(?:\.age)?$/.exec(file) ?? []
        return name === undefined ? [] : [{ name, whole: part === undefined, file: `wal/${file}` }]
      })
    },
    async write(name, content) {
      const gzip = createGzip({ level: LEVEL })
      const compressed = pipeline(content, gzip, () => {}) // gzip emits the error
      await store.write(name, encrypt === undefined ? compressed : encrypt(compressed))
    },
    async *read(name) {
      const gunzip = createGunzip({ chunkSize: 256 * 1024 })
      const raw = store.read(name)
      try {
        yield* identity === undefined
          ? pipeline(raw, gunzip, () => {})
          : pipeline(raw, decrypting({ identity }), gunzip, () => {})
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException
        if (error instanceof EncryptionError || /^(Z_|ERR_STREAM_PREMATURE_CLOSE)/.test(code))
          throw new Error(`${name} in ${store.place} is truncated or was altered`)
        throw error
      }
    },
  }
}

async function makeKey(store: ArchiveStore, passphrase: string): Promise<string> {
  const { identity } = await makeIdentity()
  await store.write(KEY, encrypting({ passphrase })(oneChunk(`${identity}\n`)))
  return identity
}

async function openKey(store: ArchiveStore, passphrase: string): Promise<string> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of decrypting({ passphrase })(store.read(KEY))) chunks.push(chunk)
    return Buffer.concat(chunks).toString('utf8').trim()
  } catch (error) {
    if (error instanceof EncryptionError)
      throw new Error(`the passphrase is not that of the archive ${store.place}`)
    throw error
  }
}

export async function* oneChunk(content: string | Buffer): AsyncGenerator<Buffer> {
  yield Buffer.from(content)
}
