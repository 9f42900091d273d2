/** What is known of a file of a tree. */
type TreeFile = { path: string; size: number }

/** A folder of a tree of files, with what it holds at any depth. */
export interface Folder {
  name: string
  /** Ends with a slash; empty for the root. */
  path: string
  folders: Folder[]
  files: TreeFile[]
  size: number
  count: number
}

const folder = (name: string, path: string): Folder => ({
  name,
  path,
  folders: [],
  files: [],
  size: 0,
  count: 0,
})

/** @param files ordered by path */
export function treeOf(files: readonly TreeFile[]): Folder {
  const root = folder('', '')
  const known = new Map([['', root]])
  for (const file of files) {
    const parts = file.path.split('/')
    let at = root
    add(at, file)
    for (const name of parts.slice(0, -1)) {
      const path = `${at.path}${name}/`
      let next = known.get(path)
      if (next === undefined) {
        next = folder(name, path)
        known.set(path, next)
        at.folders.push(next)
      }
      at = next
      add(at, file)
    }
    at.files.push(file)
  }
  return root
}

function add(folder: Folder, file: TreeFile): void {
  folder.size += file.size
  folder.count++
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** The paths of all folders that a file is in. */
export const foldersOf = (path: string): string[] =>
  [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1))
