// The files that the conventions are about, and their lines.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')
export const SOURCE = /\.(ts|tsx|mts|mjs|cjs|js|py)$/
const SKIPPED = /(^|\/)(node_modules|dist|generated|__generated__|__pycache__|\.[^/]+)(\/|$)/
/** Written by a generator, which a check runs again. */
const GENERATED = ['python/reporter/src/svc_reporter/_delivery/validate.py']

export function filesUnder(...folders: string[]): string[] {
  return folders
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1)),
    )
    .filter((path) => !SKIPPED.test(path))
    .sort()
}

const texts = new Map<string, string>()
/** The text of a file, which is read once. */
export function read(path: string): string {
  const known = texts.get(path)
  if (known !== undefined) return known
  const text = readFileSync(join(ROOT, path), 'utf8')
  texts.set(path, text)
  return text
}

export const sources = filesUnder('src', 'web', 'test', 'bench', 'scripts', 'python').filter(
  (path) => SOURCE.test(path) && !GENERATED.includes(path),
)
export const inSrc = sources.filter((path) => path.startsWith('src/'))
export const isTest = (path: string): boolean => /(^|\/)tests?\//.test(path)
/** Every line of these files that `pattern` finds, as `path:line: text`. */
export const linesWith = (paths: readonly string[], pattern: RegExp): string[] =>
  paths.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  )
