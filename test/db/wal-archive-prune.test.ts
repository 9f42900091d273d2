import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type BaseBackup, openArchive } from '../../src/db/wal-archive/contents.ts'
import { prune } from '../../src/db/wal-archive/prune.ts'
import { folderStore } from '../../src/db/wal-archive/store.ts'

test('kept base backups keep their data, also of one second; older ones and those without a description go', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-prune-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const store = folderStore(folder)
  const add = async (id: string, startedAt?: string): Promise<void> => {
    await store.write(`base/${id}.tar.gz`, 'data')
    const base: Partial<BaseBackup> = { id, start: '0/3000000', timeline: 1, segmentBytes: 16 * 1024 * 1024 }
    if (startedAt !== undefined) await store.write(`base/${id}.json`, JSON.stringify({ ...base, startedAt }))
  }
  await add('20260101T000000Z-1', '2026-01-01T00:00:00.000Z')
  await add('20260102T000000Z-2')
  // The second of the two comes first by its name.
  await add('20260103T000000Z-b', '2026-01-03T00:00:00.100Z')
  await add('20260103T000000Z-a', '2026-01-03T00:00:00.600Z')
  await add('20260104T000000Z-9')
  await prune(await openArchive(store, { passphrase: undefined, make: false }), 2, () => {})
  expect((await readdir(join(folder, 'base'))).sort()).toEqual([
    '20260103T000000Z-a.json',
    '20260103T000000Z-a.tar.gz',
    '20260103T000000Z-b.json',
    '20260103T000000Z-b.tar.gz',
    '20260104T000000Z-9.tar.gz',
  ])
})
