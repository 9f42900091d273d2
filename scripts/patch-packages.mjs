#!/usr/bin/env node
// Applies ./patches to the installed packages: `npm install` calls it (prepare), and the release for the packages that it
// bundles. Decision 0026 says what is patched and why. Does nothing where patch-package is not installed, as with
// `npm ci --omit=dev`.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const PATCH_PACKAGE = join(ROOT, 'node_modules/patch-package/index.js')

const APPLIED = join(ROOT, 'node_modules/.patches')

function patchesHash() {
  const folder = join(ROOT, 'patches')
  const hash = createHash('sha256')
  for (const name of readdirSync(folder).sort()) hash.update(name).update(readFileSync(join(folder, name)))
  return hash.digest('hex')
}

/** Whether the packages have the patches of this checkout: not those of an earlier one, and not none. */
export function arePatched() {
  if (!existsSync(join(ROOT, 'patches'))) return true
  return existsSync(APPLIED) && readFileSync(APPLIED, 'utf8') === patchesHash()
}

/** @param folder with package.json and node_modules. Throws with what patch-package printed. */
export function applyPatches(folder = ROOT) {
  if (!existsSync(PATCH_PACKAGE)) return
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [PATCH_PACKAGE, '--error-on-fail', '--patch-dir', relative(folder, join(ROOT, 'patches'))],
    { cwd: folder, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`patch-package ended with ${status}\n${stdout}\n${stderr}`)
  if (folder === ROOT) writeFileSync(APPLIED, patchesHash())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) applyPatches()
