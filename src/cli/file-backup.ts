import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { openSql, type Sql } from '../db/sql.ts'
import { compareStore, copyObjects, eachObject, forgetUploads } from '../domain/files/index.ts'
import { type ObjectStore, openStore } from '../storage/index.ts'
import { messageOf } from '../thrown.ts'
import { onDatabase } from './database.ts'
import { createProgress } from './progress.ts'

interface Copying {
  url: string
  /** Where the copies of files are. */
  folder: string
  config: Config
  signal: AbortSignal
  /** Called with what was copied so far. */
  progress: (objects: number, bytes: number) => void
}

/** Copies the content of files beside a backup; what an earlier backup copied to the folder is not copied again. */
export const backUpFiles = (copying: Copying) => copyBetween(copying, (store, copies) => [store, copies])

/** Brings the content of files back that the store lacks. */
export const restoreFiles = (copying: Copying) => copyBetween(copying, (store, copies) => [copies, store])

async function copyBetween(
  { url, folder, config, signal, progress }: Copying,
  direction: (store: ObjectStore, copies: ObjectStore) => [from: ObjectStore, to: ObjectStore],
): Promise<{ copied: number; missing: string[] }> {
  const sql = openSql(url, { name: 'files', max: 1 })
  const store = await openStore(config.files)
  const copies = await openStore({ url: pathToFileURL(resolve(folder)).href, s3: config.s3 })
  const [from, to] = direction(store, copies)
  let objects = 0
  let bytes = 0
  try {
    return await copyObjects(eachObject(sql), {
      from,
      to,
      signal,
      copied: (size) => {
        objects++
        bytes += size
        progress(objects, bytes)
      },
    })
  } finally {
    store.close()
    copies.close()
    await sql.end({ timeout: 5 })
  }
}

/** Uploads that were under way when a backup was made cannot be continued after it is restored. */
export async function forgetUploadsOf(url: string): Promise<void> {
  const sql = openSql(url, { name: 'files', max: 1 })
  try {
    await forgetUploads(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * After a restore of an earlier moment: forgets uploads of that time, brings back content that was deleted since, if there
 * are copies, and compares the store with the database. A store that is away does not stop the restore.
 * @returns what its reader has to know
 */
export async function settleFiles(
  settling: Omit<Copying, 'folder' | 'progress'> & { folder: string | undefined },
): Promise<string[]> {
  const sql = openSql(settling.url, { name: 'files', max: 1 })
  try {
    const [row] = await sql<{ there: boolean }[]>`/* files.has_tables */
      select to_regclass('contents') is not null there`
    // A database of a release without files.
    if (row?.there !== true) return []
    await forgetUploads(sql)
    return await settleStore(sql, settling).catch((error) => [
      `the store of files cannot be used: ${messageOf(error)}. Check SVC_FILES, and run svc doctor`,
    ])
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function settleStore(
  sql: Sql,
  { url, folder, config, signal }: Parameters<typeof settleFiles>[0],
): Promise<string[]> {
  const lines: string[] = []
  if (folder !== undefined) {
    const { copied } = await restoreFiles({ url, folder, config, signal, progress: () => {} })
    lines.push(`copied ${copied} files from ${folder}`)
  }
  const store = await openStore(config.files)
  try {
    const { objects, missing, unknown } = await compareStore(sql, store)
    if (missing.length > 0)
      lines.push(
        `${missing.length} of ${objects} contents of files were deleted since and are missing: svc restore --files brings them back from copies; svc doctor names them`,
      )
    if (unknown > 0)
      lines.push(
        `${unknown} objects in the store of files arrived later; they are kept, and svc doctor counts them`,
      )
    return lines
  } finally {
    store.close()
  }
}

/** Copies files in one direction, and says how many. */
export async function copyFiles(
  copy: typeof backUpFiles,
  folder: string,
  config: Config,
  signal: AbortSignal,
): Promise<void> {
  const progress = createProgress()
  const { copied, missing } = await onDatabase(config, (url) =>
    copy({
      url,
      folder,
      config,
      signal,
      progress: (objects, bytes) =>
        progress.update(`copied ${objects} files, ${(bytes / 1e6).toFixed(1)} MB`),
    }),
  )
  progress.end(`copied ${copied} files; ${missing.length} are missing`)
}
