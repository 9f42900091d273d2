import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const BUILT = join(import.meta.dirname, '../../dist/web')

export interface Size {
  gzipKb: number
  brotliKb: number
}

/** What files of the built page weigh on the wire. */
export function sizeOfFiles(paths: Iterable<string>): Size {
  const kb = (ending: string): number => {
    let sum = 0
    for (const path of new Set(paths)) {
      const file = join(BUILT, path)
      // Files too small to gain from it are sent uncompressed.
      sum += statSync(existsSync(file + ending) ? file + ending : file).size
    }
    return sum / 1000
  }
  return { gzipKb: kb('.gz'), brotliKb: kb('.br') }
}

/** What every page needs before anything is seen. */
export function coreFiles(): string[] {
  const page = readFileSync(join(BUILT, 'index.html'), 'utf8')
  return ['index.html', ...[...page.matchAll(/\/(assets\/[\w.-]+)/g)].map((found) => found[1] as string)]
}
