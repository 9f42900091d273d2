import { createHash } from 'node:crypto'

/** What identifies a version: its files by path, content and size. Metadata and media types do not count. */
export function digestOfFiles(files: readonly { path: string; sha256: string; size: number }[]): string {
  const lines = files.map(({ path, sha256, size }) => [
    Buffer.from(path),
    Buffer.from(`\0${sha256}\0${size}\n`),
  ])
  // Bytes of UTF-8 are in the order of code points.
  lines.sort(([a], [b]) => Buffer.compare(a as Buffer, b as Buffer))
  const hash = createHash('sha256')
  for (const [path, rest] of lines) hash.update(path as Buffer).update(rest as Buffer)
  return hash.digest('hex')
}
