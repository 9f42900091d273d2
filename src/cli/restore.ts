import { type Config, ConfigError } from '../config.ts'
import { restore } from '../db/dump/restore.ts'
import { MIGRATIONS } from './backup.ts'
import { onDatabase } from './database.ts'
import { amountOf, createProgress, stopSignal } from './progress.ts'

/** `svc restore FILE [--replace]`: puts a backup into the database, all of it or nothing. */
export async function runRestore(args: readonly string[], config: Config): Promise<void> {
  const files = args.filter((arg) => arg !== '--replace')
  const [file] = files
  if (file === undefined || files.length > 1 || file.startsWith('-'))
    throw new ConfigError('say what to restore: svc restore FILE [--replace]')
  const progress = createProgress()
  const signal = stopSignal()
  const begun = performance.now()
  const restored = await onDatabase(config, (url) =>
    restore({
      url,
      migrations: MIGRATIONS,
      file,
      replace: args.includes('--replace'),
      now: new Date(),
      signal,
      progress: (step, rows, bytes) => progress.tell(`${step} ${amountOf(rows, bytes)}`),
    }),
  )
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  progress.end(
    `restored ${restored.rows.toLocaleString('en')} rows of the backup of ${restored.createdAt} in ${seconds} s`,
  )
}
