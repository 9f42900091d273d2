// What the build and the documentation are made from, as a hash of the contents: a checkout changes times at will.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
/** All that the build reads. */
const SOURCES = [
  'src',
  'web',
  'prisma',
  'patches',
  'python/agent/src',
  'python/agent/pyproject.toml',
  'python/agent/README.md',
  'python/reporter/src',
  'python/reporter/pyproject.toml',
  'python/reporter/README.md',
  'typescript/reporter/src',
  'typescript/reporter/package.json',
  'typescript/reporter/tsconfig.json',
  'typescript/reporter/README.md',
  'scripts/npm-package.mjs',
  'scripts/bundle.mjs',
  'scripts/wheels.mjs',
  'scripts/zip.mjs',
  'LICENSE',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]
/** Written by the installation and by the build, from sources that count. */
const GENERATED = 'src/db/generated'
/** All that the documentation site is made of; it is built separately, because the service does not need it. */
const DOCS_SOURCES = [
  'docs',
  'CHANGELOG.md',
  'python/reporter/README.md',
  'schemas/event_v1.json',
  'scripts/docs.mjs',
  'scripts/docs-events.mjs',
  'scripts/docs-page.mjs',
  'scripts/docs-site',
  'package.json',
]
/** Where scripts/docs.mjs notes what it was built from. */
export const DOCS_HASH = 'dist/docs/.build-hash'

/** Tells whether what is built has changed since. */
export function sourceHash() {
  return hashOf(SOURCES)
}

/** Tells whether the documentation has changed since it was built. */
export function docsHash() {
  return hashOf(DOCS_SOURCES)
}

function hashOf(sources) {
  const hash = createHash('sha256')
  for (const source of sources) addToHash(hash, source)
  return hash.digest('hex')
}

function addToHash(hash, path) {
  const full = join(ROOT, path)
  if (path === GENERATED || !existsSync(full)) return
  if (statSync(full).isDirectory()) {
    const names = readdirSync(full).filter(
      (name) => !['node_modules', 'dist', '__pycache__'].includes(name) && !name.startsWith('.'),
    )
    for (const name of names.sort()) addToHash(hash, `${path}/${name}`)
    return
  }
  const content = readFileSync(full)
  hash.update(`${path}\0${content.length}\0`).update(content)
}
