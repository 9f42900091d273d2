import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { openStore } from '../../src/storage/index.ts'

test('archived batches are readable for the service alone, under any umask', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-archive-'))
  const before = process.umask(0)
  try {
    const root = join(folder, 'archive')
    const store = await openStore({ url: pathToFileURL(root).href, s3: {} as never })
    await store.put('vision/b1/metrics.parquet', Buffer.from('rows'))
    const modes = await Promise.all(
      ['', 'vision', 'vision/b1', 'vision/b1/metrics.parquet'].map(async (name) =>
        ((await stat(join(root, name))).mode & 0o777).toString(8),
      ),
    )
    expect(modes).toEqual(['700', '700', '700', '600'])
    store.close()
  } finally {
    process.umask(before)
    await rm(folder, { recursive: true })
  }
})

test('objects that are begun while others of their folder are removed stay, and none fails', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-store-'))
  const store = await openStore({ url: pathToFileURL(folder).href, s3: {} as never })
  const name = (round: number, i: number) => `project-${i % 2}/batch/${round}-${i}`
  try {
    for (let round = 0; round < 60; round++) {
      await Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          if (round > 0) await store.removeFolder(name(round - 1, i))
          await store.put(`${name(round, i)}/object`, Buffer.from('kept'))
        }),
      )
      const kept = await Promise.all(
        Array.from({ length: 12 }, (_, i) => store.sizeOf(`${name(round, i)}/object`)),
      )
      expect(kept).toEqual(Array.from({ length: 12 }, () => 4))
    }
  } finally {
    store.close()
    await rm(folder, { recursive: true })
  }
})
