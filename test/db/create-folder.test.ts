import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createFolder } from '../../src/db/create-folder.ts'

const root = mkdtempSync(join(tmpdir(), 'svc-folder-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('missing folders are created with the mode, and existing ones are left as they are', async () => {
  const folder = join(root, 'a', 'b', 'c')
  await Promise.all([createFolder(folder, 0o700), createFolder(folder, 0o700)])
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  await createFolder(folder, 0o755)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('many who create folders of the same missing parents all have theirs', async () => {
  for (let round = 0; round < 100; round++) {
    const folders = Array.from({ length: 10 }, (_, i) => join(root, `many-${round}`, `${i % 2}`, `${i}`))
    await Promise.all(folders.map((folder) => createFolder(folder, 0o700)))
    expect(folders.every((folder) => statSync(folder).isDirectory())).toBe(true)
  }
})

test('a file in the place of a folder is an error', async () => {
  writeFileSync(join(root, 'file'), '')
  await expect(createFolder(join(root, 'file'), 0o700)).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(createFolder(join(root, 'file', 'below'), 0o700)).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test('a file system that refuses folders, as /proc does with ENOENT, is an error, not an endless loop', async () => {
  await expect(createFolder('/proc/x/y', 0o700)).rejects.toThrow(/mkdir/)
})
