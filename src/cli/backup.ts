import { statSync } from 'node:fs'
import type { Config } from '../config.ts'
import { backup } from '../db/dump/backup.ts'
import { MIGRATIONS } from '../db/migrate.ts'
import { openArchivedObjects } from './archived-objects.ts'
import { onDatabase } from './database.ts'
import { backUpFiles, copyFiles } from './file-backup.ts'
import { amountOf, createProgress, stopSignal } from './progress.ts'

/**
 * `svc backup FILE [--files FOLDER]`: a consistent backup of the database in one file, with archived batches if their
 * archive is in the data folder, and copies of files beside it. Servers may run meanwhile.
 */
export async function runBackup(file: string, config: Config, files?: string): Promise<void> {
  const progress = createProgress()
  const signal = stopSignal()
  const begun = performance.now()
  const archive = config.archive?.own === true ? await openArchivedObjects(config.archive) : undefined
  const saved = await onDatabase(config, (url) =>
    backup({
      url,
      migrations: MIGRATIONS,
      file,
      now: new Date(),
      passphrase: config.backupPassphrase,
      signal,
      progress: (rows, bytes) => progress.update(`saved ${amountOf(rows, bytes)}`),
      objects: archive?.read,
    }),
  ).finally(() => archive?.close())
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const size = (statSync(file).size / 1e6).toFixed(1)
  progress.end(`saved ${amountOf(saved.rows, saved.bytes)} in ${seconds} s; ${file} has ${size} MB`)
  if (archive === undefined && saved.archived > 0)
    console.error(
      `svc: ${saved.archived} archived batches are not in the file: copy their archive, ${config.archive?.url ?? 'which SVC_ARCHIVE named'}`,
    )
  if (files !== undefined) await copyFiles(backUpFiles, files, config, signal)
  if (archive !== undefined && archive.missing.length > 0)
    throw new Error(
      `the file lacks ${archive.missing.length} archived batches, whose objects are missing or damaged; svc doctor names them`,
    )
}
