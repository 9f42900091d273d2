import type { Config } from '../config.ts'
import { verify } from '../db/wal-archive/verify.ts'
import { MIGRATIONS } from './database.ts'
import { createProgress, stopSignal } from './progress.ts'
import { archiveAt, isArchive, momentOf } from './wal-archive.ts'

const NAMED = ['users', 'projects', 'batches', 'jobs', 'events', 'log_lines']

/** `svc verify PATH`: restores a backup into a temporary database, and prints what it contains. */
export async function runVerify(path: string, at: string | undefined, config: Config): Promise<void> {
  const progress = createProgress()
  const begun = performance.now()
  const passphrase = config.backupPassphrase
  const of = isArchive(path)
    ? { archive: await archiveAt(path, config, false), at: momentOf(at) }
    : { file: path, passphrase }
  const { rows, at: restoredTo } = await verify({
    of,
    migrations: MIGRATIONS,
    now: new Date(),
    log: (message) => console.error(`svc: ${message}`),
    progress: (text, share) => progress.update(text, share),
    signal: stopSignal(),
  })
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const total = Object.values(rows).reduce((sum, n) => sum + n, 0)
  progress.end(`${path} can be restored: ${total.toLocaleString('en')} rows read in ${seconds} s`)
  console.log(`as of ${restoredTo}`)
  for (const name of NAMED) console.log(`${name} ${(rows[name] ?? 0).toLocaleString('en')}`)
}
