import type { Config } from '../config.ts'
import { restore } from '../db/dump/restore.ts'
import { MIGRATIONS } from '../db/migrate.ts'
import { openStore } from '../storage/index.ts'
import { onDatabase } from './database.ts'
import { copyFiles, forgetUploadsOf, restoreFiles } from './file-backup.ts'
import { amountOf, createProgress, stopSignal } from './progress.ts'

/** `svc restore FILE [--replace] [--files FOLDER]`: restores a backup into the database, completely or not at all. */
export async function runRestore(
  file: string,
  { replace, files }: { replace: boolean; files: string | undefined },
  config: Config,
): Promise<void> {
  const progress = createProgress()
  const signal = stopSignal()
  const begun = performance.now()
  const store = config.archive && (await openStore(config.archive))
  const restored = await onDatabase(
    config,
    async (url) => {
      const done = await restore({
        url,
        migrations: MIGRATIONS,
        file,
        replace,
        now: new Date(),
        passphrase: config.backupPassphrase,
        signal,
        object: store && (({ name, content }) => store.put(name, content)),
        progress: (step, rows, bytes) => progress.update(`${step} ${amountOf(rows, bytes)}`),
      })
      await forgetUploadsOf(url)
      return done
    },
    { create: true },
  ).finally(() => store?.close())
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  progress.end(
    `restored ${restored.rows.toLocaleString('en')} rows of the backup of ${restored.createdAt} in ${seconds} s`,
  )
  if (files !== undefined) await copyFiles(restoreFiles, files, config, signal)
}
