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
    if (codeOf(error) !== 'ENOENT') throw error
    const parent = dirname(folder)
    if (!(await isFolder(parent))) await createFolder(parent, mode)
    // The parent is there now, perhaps because another created it since.
    await mkdir(folder, { mode }).catch(async (again) => {
      if (!(await isFolder(folder))) throw again
    })
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
