#!/usr/bin/env node
// Builds the npm package of typescript/reporter into dist/npm, from where the service hands it out (docs/install.md), with
// `package.json`, which says what the registry's answer needs.
//
//   node scripts/npm-package.mjs [FOLDER]
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { replaceFile } from './wheels.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const SOURCE = join(ROOT, 'typescript/reporter')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

/**
 * Builds the package with the service's version.
 * @returns its package.json, with `dist`: the file's name and its SHA-512 as npm writes it
 */
export function buildNpmPackage(folder = join(ROOT, 'dist/npm')) {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-npm-'))
  try {
    execFileSync(process.execPath, [TSC, '-p', SOURCE, '--noCheck', '--outDir', join(scratch, 'dist')])
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const about = { ...JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8')), version }
    writeFileSync(join(scratch, 'package.json'), `${JSON.stringify(about, null, 2)}\n`)
    cpSync(join(SOURCE, 'README.md'), join(scratch, 'README.md'))
    cpSync(join(ROOT, 'LICENSE'), join(scratch, 'LICENSE'))
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
    execFileSync(npm, ['pack', '--silent', '--ignore-scripts'], {
      cwd: scratch,
      shell: process.platform === 'win32',
    })
    const [filename] = readdirSync(scratch).filter((name) => name.endsWith('.tgz'))
    const bytes = readFileSync(join(scratch, filename))
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    const shasum = createHash('sha1').update(bytes).digest('hex')
    mkdirSync(folder, { recursive: true })
    replaceFile(join(folder, filename), bytes)
    const index = { ...about, dist: { filename, integrity, shasum } }
    replaceFile(join(folder, 'package.json'), `${JSON.stringify(index, null, 2)}\n`)
    return index
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  buildNpmPackage(process.argv[2] && resolve(process.argv[2]))
