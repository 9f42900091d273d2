import type { Archive, BaseBackup } from './contents.ts'
import { parseLsn, segmentNumber, segmentOf, timelineOf } from './lsn.ts'

/**
 * Removes all but the newest base backups, the log from before the oldest one that is kept, and the leftovers of killed
 * backups.
 * @param keep how many base backups stay
 */
export async function prune(archive: Archive, keep: number, log: (message: string) => void): Promise<void> {
  const { store } = archive
  await store.removeUnfinished()
  const bases = await archive.bases()
  const removed = bases.slice(0, -keep)
  const kept = bases.slice(-keep)
  const [oldest] = kept
  if (oldest === undefined) return
  // The description first: files without one are never taken for a backup.
  for (const { id } of removed) await store.remove(`base/${id}.json`)
  const isOf = (file: string, { id }: BaseBackup): boolean => file.startsWith(`${id}.`)
  for (const file of await store.list('base')) {
    if (kept.some((one) => isOf(file, one))) continue
    // Names begin with the time. A newer backup without a description may still be waiting for the end of its log.
    if (file < oldest.id || removed.some((one) => isOf(file, one))) await store.remove(`base/${file}`)
  }
  if (removed.length === 0) return
  const first = segmentOf(parseLsn(oldest.start), oldest.segmentBytes)
  const before = (await archive.segments()).filter(
    ({ name }) => timelineOf(name) <= oldest.timeline && segmentNumber(name, oldest.segmentBytes) < first,
  )
  for (const { file } of before) await store.remove(file)
  log(`removed ${removed.length} base backups and ${before.length} segments of log that are no longer needed`)
}
