import type { Config } from '../config.ts'
import { restore } from '../db/dump/restore.ts'
import { MIGRATIONS, onDatabase } from './database.ts'
import { amountOf, createProgress, stopSignal } from './progress.ts'

/** `svc restore FILE [--replace]`: restores a backup into the database, completely or not at all. */
export async function runRestore(
  file: string,
  { replace }: { replace: boolean },
  config: Config,
): Promise<void> {
  const progress = createProgress()
  const signal = stopSignal()
  const begun = performance.now()
  const restored = await onDatabase(
    config,
    (url) =>
      restore({
        url,
        migrations: MIGRATIONS,
        file,
        replace,
        now: new Date(),
        passphrase: config.backupPassphrase,
        signal,
        progress: (step, rows, bytes) => progress.update(`${step} ${amountOf(rows, bytes)}`),
      }),
    { create: true },
  )
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  progress.end(
    `restored ${restored.rows.toLocaleString('en')} rows of the backup of ${restored.createdAt} in ${seconds} s`,
  )
}
