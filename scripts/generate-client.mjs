#!/usr/bin/env node
// Makes the Prisma client in src/db/generated, which is not committed, where it is missing or older than its schema. It
// takes about three seconds and no network. Build, check, tests and `npm install` call it; plain Node, and quiet where
// the packages that it needs are not installed, as with `npm ci --omit=dev`.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const HASH_FILE = join(ROOT, 'src/db/generated/.hash')
const PRISMA = join(ROOT, 'node_modules/prisma/build/index.js')

/** All that the generated files depend on. */
const SOURCES = [
  'prisma/schema.prisma',
  'prisma.config.ts',
  'node_modules/prisma/package.json',
  'node_modules/@prisma/client/package.json',
  'node_modules/@pothos/plugin-prisma/package.json',
]

/** Throws with what Prisma printed. */
export function ensureClient() {
  if (!existsSync(join(ROOT, 'prisma/schema.prisma')) || !existsSync(PRISMA)) return
  const hash = createHash('sha256')
  for (const source of SOURCES) hash.update(`${source}\0`).update(readFileSync(join(ROOT, source)))
  const wanted = hash.digest('hex')
  const made = [HASH_FILE, ...['client.ts', 'pothos.ts'].map((name) => join(ROOT, 'src/db/generated', name))]
  if (made.every((file) => existsSync(file)) && readFileSync(HASH_FILE, 'utf8') === wanted) return
  // Prisma refuses a folder with anything else than a whole client of its own.
  rmSync(join(ROOT, 'src/db/generated'), { recursive: true, force: true })
  const { status, stdout, stderr } = spawnSync(process.execPath, [PRISMA, 'generate'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: {
      ...process.env,
      // Prisma finds its generators by their names.
      PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH}`,
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
  })
  if (status !== 0) throw new Error(`prisma generate ended with ${status}\n${stdout}\n${stderr}`)
  writeFileSync(HASH_FILE, wanted)
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    ensureClient()
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
