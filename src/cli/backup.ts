import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { backup } from '../db/dump/backup.ts'
import { onDatabase } from './database.ts'
import { amountOf, createProgress, stopSignal } from './progress.ts'

export const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations')

/** `svc backup FILE`: everything the service keeps, as of one moment, in one file. Servers may run meanwhile. */
export async function runBackup(args: readonly string[], config: Config): Promise<void> {
  const [file, ...rest] = args
  if (file === undefined || rest.length > 0 || file.startsWith('-'))
    throw new ConfigError('say where to: svc backup FILE')
  const progress = createProgress()
  const signal = stopSignal()
  const begun = performance.now()
  const saved = await onDatabase(config, (url) =>
    backup({
      url,
      migrations: MIGRATIONS,
      file,
      now: new Date(),
      signal,
      progress: (rows, bytes) => progress.tell(`saved ${amountOf(rows, bytes)}`),
    }),
  )
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const size = (statSync(file).size / 1e6).toFixed(1)
  progress.end(`saved ${amountOf(saved.rows, saved.bytes)} in ${seconds} s; ${file} has ${size} MB`)
}
