import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newBaseId, openArchive } from '../../src/db/wal-archive/contents.ts'
import { folderStore } from '../../src/db/wal-archive/store.ts'

test('base backups of one second have files of their own, and are known in the order in which they began', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-base-backups-'))
  try {
    const archive = await openArchive(folderStore(folder), { passphrase: undefined, make: true })
    const begun = Array.from({ length: 20 }, (_, ms) => new Date(Date.UTC(2026, 0, 2, 3, 4, 5, ms)))
    const ids = begun.map(newBaseId)
    expect(new Set(ids).size).toBe(20)
    // The name that earlier releases gave, of the same second.
    ids[0] = '20260102T030405Z'
    for (const [i, id] of ids.entries())
      await archive.store.write(`base/${id}.json`, JSON.stringify({ id, startedAt: begun[i] }))
    expect((await archive.bases()).map(({ id }) => id)).toEqual(ids)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
