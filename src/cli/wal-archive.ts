import { existsSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, ConfigError } from '../config.ts'
import { type Archive, openArchive } from '../db/wal-archive/contents.ts'
import { recover } from '../db/wal-archive/recover.ts'
import { isS3, storeAt } from '../db/wal-archive/store.ts'
import { writeArchive } from '../db/wal-archive/write.ts'
import { copyFromWalArchive, copyToWalArchive, keepCopying, ownArchive } from './archived-objects.ts'
import { onDatabase } from './database.ts'
import { settleFiles } from './file-backup.ts'
import { createProgress, stopSignal } from './progress.ts'

const DAY_MS = 86_400_000
const RETRY_MS = 5_000

export interface ArchiveChoices {
  once: boolean
  baseEveryDays: number
  keep: number
}

/** Opens the archive at the place that was given on the command line. */
export const archiveAt = async (place: string, config: Config, make: boolean): Promise<Archive> =>
  openArchive(await storeAt(place, config.s3), { passphrase: config.backupPassphrase, make })

/** Whether a path is an archive of `svc wal-archive` and not a file of `svc backup`. */
export const isArchive = (path: string): boolean =>
  isS3(path) || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** `svc wal-archive PLACE`: keeps base backups and the write-ahead log, so that any point in time can be restored. */
export async function runArchive(place: string, choices: ArchiveChoices, config: Config): Promise<void> {
  if (config.databaseUrl !== undefined)
    throw new Error(
      'SVC_DATABASE_URL names a PostgreSQL of your own: archive it with its own tools (pgBackRest, WAL-G), or use svc backup',
    )
  const progress = createProgress()
  const signal = stopSignal()
  if (existsSync(place) && !isArchive(place))
    throw new Error(`${place} is a file; name a folder, or s3://bucket/prefix`)
  const archive = await archiveAt(place, config, true)
  const log = (message: string): void => console.error(`svc: ${message}`)
  await onDatabase(config, async (url) => {
    const one = (): ReturnType<typeof writeArchive> =>
      writeArchive({
        url,
        archive,
        once: choices.once,
        baseEveryMs: choices.baseEveryDays * DAY_MS,
        keep: choices.keep,
        log,
        progress: (text, share) => progress.update(text, share),
        signal,
      })
    const own = ownArchive(config)
    const copy = async (): Promise<number> => (own === undefined ? 0 : copyToWalArchive(url, archive, own))
    if (choices.once) {
      const { base, walBytes } = await one()
      const copied = await copy()
      const made =
        base === undefined ? 'no new base backup was due' : `base backup of ${megabytes(base.bytes)}`
      progress.end(
        `${place} is up to date: ${made}, ${megabytes(walBytes)} of log${copied === 0 ? '' : `, ${copied} archived batches`}`,
      )
      return
    }
    log(`archiving into ${place} until SIGTERM or Ctrl-C`)
    // Rows are deleted nine minutes or more after they were archived: by then their objects are here.
    const copying = own === undefined ? undefined : keepCopying(copy, log, signal)
    while (!signal.aborted)
      await one().catch(async (error) => {
        if (signal.aborted) return
        // A restart of the database is no reason to end.
        const { code = '', message } = error as { code?: string; message: string }
        if (!/^(ECONN|EPIPE|57P0)/.test(code) && !/Connection terminated/.test(message)) throw error
        log(`${message}; trying again in ${RETRY_MS / 1000} s`)
        await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
      })
    await copying
  })
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** `svc restore PLACE [--at TIME] [--files FOLDER]`: restores an archive into the data folder. */
export async function runRecover(
  place: string,
  { at, replace, files }: { at: string | undefined; replace: boolean; files: string | undefined },
  config: Config,
): Promise<void> {
  if (config.databaseUrl !== undefined)
    throw new Error(
      'an archive is restored into a data folder: unset SVC_DATABASE_URL, restore into SVC_DATA_DIR, and move it from there with svc backup and svc restore',
    )
  const progress = createProgress()
  const begun = performance.now()
  const archive = await archiveAt(place, config, false)
  const own = ownArchive(config)
  const signal = stopSignal()
  let lacking: string[] = []
  let fileLines: string[] = []
  const { base, lastCommit, segments, aside } = await recover({
    archive,
    restored: async (url) => {
      if (own !== undefined) lacking = await copyFromWalArchive(url, archive, own)
      fileLines = await settleFiles({ url, folder: files, config, signal })
    },
    home: config.dataDir,
    at: momentOf(at),
    replace,
    now: new Date(),
    log: (message) => console.error(`svc: ${message}`),
    progress: (text, share) => progress.update(text, share),
    signal,
  })
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  if (lacking.length > 0)
    console.error(
      `svc: ${lacking.length} archived batches lack objects, such as ${lacking[0]}: copy their archive. Charts and log lines need none`,
    )
  for (const line of fileLines) console.error(`svc: ${line}`)
  if (aside !== undefined) console.error(`svc: the database that was there is now ${aside}`)
  progress.end(
    `restored the base backup of ${base.startedAt} and ${segments} segments of log in ${seconds} s; the last commit is of ${(lastCommit ?? new Date(base.endedAt)).toISOString()}. svc start serves it from ${config.dataDir}`,
  )
}

/** @throws ConfigError for text that is not a time */
export function momentOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const moment = new Date(text)
  if (Number.isNaN(moment.getTime()) || !/(Z|[+-]\d\d:?\d\d)$/.test(text))
    throw new ConfigError(`--at must be a time with its time zone, such as 2026-03-01T14:30:00Z, not ${text}`)
  return moment
}
