import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { removeTemporary } from '../db/clean-up.ts'
import { MIGRATIONS } from '../db/migrate.ts'
import { verify } from '../db/wal-archive/verify.ts'
import { openStore } from '../storage/index.ts'
import { type CheckedBatches, checkArchived, readerOfWalArchive } from './archived-objects.ts'
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
  const folder = mkdtempSync(join(tmpdir(), 'svc-verify-archive-'))
  const store = await openStore({ url: pathToFileURL(folder).href, s3: config.s3 })
  const objects = 'archive' in of ? await readerOfWalArchive(of.archive) : store
  let archived: CheckedBatches = { read: 0, missing: 0 }
  try {
    const { rows, at: restoredTo } = await verify({
      of,
      migrations: MIGRATIONS,
      now: new Date(),
      log: (message) => console.error(`svc: ${message}`),
      progress: (text, share) => progress.update(text, share),
      signal: stopSignal(),
      object: ({ name, content }) => store.put(name, content),
      check: async (url) => {
        archived = await checkArchived(url, objects)
      },
    })
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    const total = Object.values(rows).reduce((sum, n) => sum + n, 0)
    progress.end(`${path} can be restored: ${total.toLocaleString('en')} rows read in ${seconds} s`)
    console.log(`as of ${restoredTo}`)
    for (const name of NAMED) console.log(`${name} ${(rows[name] ?? 0).toLocaleString('en')}`)
    if (archived.read > 0) console.log(`archived_batches ${archived.read.toLocaleString('en')}`)
    if (archived.missing > 0)
      console.log(`archived_batches_elsewhere ${archived.missing.toLocaleString('en')}`)
  } finally {
    store.close()
    removeTemporary(folder, (message) => console.error(`svc: ${message}`))
  }
}
