import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { DumpedObject } from '../db/dump/file.ts'
import { openSql, type Sql } from '../db/sql.ts'
import { type Archive, oneChunk } from '../db/wal-archive/contents.ts'
import {
  archivedBatches,
  DamagedArchive,
  faultOf,
  MANIFEST,
  objectsOf,
  type Readable,
  readManifest,
  readRows,
} from '../domain/cold/index.ts'
import { openStore, type StoreSettings } from '../storage/index.ts'

/**
 * Objects of archived batches, in backups: `svc backup` has them in its file, and `svc wal-archive` beside the log. Only
 * those of an archive in the data folder; one elsewhere has copies of its own.
 */

const COPY_EVERY_MS = 30_000
const OBJECTS = 'objects'

/** Reads the objects of batches; those whose objects are missing or damaged are noted. */
export async function openArchivedObjects(settings: StoreSettings): Promise<{
  read(locations: readonly string[]): AsyncGenerator<DumpedObject>
  missing: string[]
  close(): void
}> {
  const store = await openStore(settings)
  const missing: string[] = []
  return {
    async *read(locations) {
      for (const location of locations) {
        try {
          yield* objectsOf(store, location)
        } catch (error) {
          if (!(error instanceof DamagedArchive)) throw error
          missing.push(location)
        }
      }
    },
    missing,
    close: store.close,
  }
}

const onSql = async <T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> => {
  const sql = openSql(url, { name: 'archived objects', max: 1 })
  return work(sql).finally(() => sql.end({ timeout: 5 }))
}

const inArchive = async (sql: Sql) =>
  (await archivedBatches(sql)).filter(({ state }) => state === 'cold' || state === 'verified')

/** Copies objects of archived batches into a WAL archive, and removes what none of its moments needs. */
export async function copyToWalArchive(
  url: string,
  archive: Archive,
  settings: StoreSettings,
): Promise<number> {
  const nameOf = (name: string): string => `${OBJECTS}/${name}${archive.suffix}`
  const store = await openStore(settings)
  try {
    const batches = await onSql(url, inArchive)
    const known = new Set(await archive.store.listBelow(OBJECTS))
    let copied = 0
    for (const { location } of batches) {
      if (known.has(`${location}/${MANIFEST}${archive.suffix}`)) continue
      try {
        for await (const { name, content } of objectsOf(store, location))
          await archive.write(nameOf(name), oneChunk(content))
        copied++
      } catch (error) {
        // It was archived again or purged meanwhile, or `svc doctor` reports it.
        if (!(error instanceof DamagedArchive)) throw error
      }
    }
    await removeUnused(archive, known, new Set(batches.map(({ location }) => location)))
    return copied
  } finally {
    store.close()
  }
}

/** Objects that no batch names any more stay until every base backup is newer than that. */
async function removeUnused(
  archive: Archive,
  known: ReadonlySet<string>,
  used: ReadonlySet<string>,
): Promise<void> {
  const oldest = (await archive.bases())[0]
  if (oldest === undefined) return
  const folders = new Map<string, string[]>()
  for (const name of known) {
    const location = name.slice(0, name.lastIndexOf('/'))
    folders.set(location, [...(folders.get(location) ?? []), name])
  }
  for (const [location, names] of folders) {
    const mark = `${OBJECTS}/${location}/unused-since`
    const since = names.includes(`${location}/unused-since`) ? await archive.store.readText(mark) : undefined
    if (used.has(location)) {
      if (since !== undefined) await archive.store.remove(mark)
    } else if (since === undefined) await archive.store.write(mark, new Date().toISOString())
    else if (Date.parse(since) < Date.parse(oldest.startedAt))
      for (const name of names) await archive.store.remove(`${OBJECTS}/${name}`)
  }
}

/** `copyToWalArchive` until `signal`; an error is logged, and the next round tries again. */
export async function keepCopying(
  copy: () => Promise<number>,
  log: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await copy().catch((error) =>
      log(`archived batches were not copied: ${(error as Error).message}; trying again`),
    )
    await sleep(COPY_EVERY_MS, undefined, { signal }).catch(() => {})
  }
}

/** The objects of archived batches in a WAL archive. */
const readerOf = (archive: Archive, known: ReadonlySet<string>): Readable => ({
  async get(name) {
    const file = [`${name}.gz`, `${name}.gz.age`].find((one) => known.has(one))
    if (file === undefined) return undefined
    const chunks: Buffer[] = []
    for await (const chunk of archive.read(`${OBJECTS}/${file}`)) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks)
  },
})

/** Copies objects that the archive of the settings lacks from a WAL archive. @returns batches that lack some after it */
export async function copyFromWalArchive(
  url: string,
  archive: Archive,
  settings: StoreSettings,
): Promise<string[]> {
  const reader = readerOf(archive, new Set(await archive.store.listBelow(OBJECTS)))
  const store = await openStore(settings)
  const lacking: string[] = []
  try {
    for (const batch of await onSql(url, inArchive)) {
      if ((await faultOf(store, batch)) === undefined) continue
      try {
        for await (const { name, content } of objectsOf(reader, batch.location))
          await store.put(name, content)
      } catch (error) {
        if (!(error instanceof DamagedArchive)) throw error
        lacking.push(`${batch.project}/${batch.id}`)
      }
    }
    return lacking
  } finally {
    store.close()
  }
}

export interface CheckedBatches {
  /** Batches whose objects were read, with all their rows. */
  read: number
  /** Batches without objects in the backup. */
  missing: number
}

/**
 * Reads every row of archived batches.
 * @throws DamagedArchive when an object is not what was archived
 */
export async function checkArchived(url: string, store: Readable): Promise<CheckedBatches> {
  const found = { read: 0, missing: 0 }
  for (const { location, manifestSha256, state } of await onSql(url, archivedBatches)) {
    if (state !== 'cold' || manifestSha256 === null) continue
    if ((await store.get(`${location}/${MANIFEST}`)) === undefined) {
      found.missing++
      continue
    }
    const manifest = await readManifest(store, location, manifestSha256)
    for await (const _ of readRows(store, location, manifest));
    found.read++
  }
  return found
}

export const readerOfWalArchive = async (archive: Archive): Promise<Readable> =>
  readerOf(archive, new Set(await archive.store.listBelow(OBJECTS)))

/** The archive whose objects backups contain. */
export const ownArchive = ({ archive }: Config): StoreSettings | undefined =>
  archive?.own === true ? archive : undefined
