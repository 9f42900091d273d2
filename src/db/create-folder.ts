import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from '../thrown.ts'

/**
 * Creates a folder and the missing ones above it. `recursive: true` of Node never returns where a file system refuses
 * to create folders with ENOENT, as /proc and automounted folders do.
 */
export async function createFolder(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, { mode })
  } catch (error) {
    if (await isFolder(folder)) return
    const parent = dirname(folder)
    if (codeOf(error) !== 'ENOENT' || (await isFolder(parent))) throw error
    await createFolder(parent, mode)
    await createFolder(folder, mode)
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
