import { execFile } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const BUILT = join(ROOT, 'dist/web/index.html')
const LOCK = join(ROOT, 'node_modules/.cache/web-build.lock')

/** Builds the page unless it is newer than its sources. Test files run side by side: one of them builds. */
export async function buildPage(): Promise<void> {
  mkdirSync(dirname(LOCK), { recursive: true })
  // The process that holds the lock may have written only a part of the page.
  while (existsSync(LOCK) || isStale()) {
    let lock: number
    try {
      lock = openSync(LOCK, 'wx')
    } catch {
      if (existsSync(LOCK) && Date.now() - statSync(LOCK).mtimeMs > 120_000) rmSync(LOCK, { force: true })
      await sleep(200)
      continue
    }
    try {
      if (isStale())
        await promisify(execFile)(
          process.execPath,
          [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build', join(ROOT, 'web'), '--logLevel', 'warn'],
          // As `npm run build` does; the NODE_ENV of vitest would build a page for development.
          { env: { ...process.env, NODE_ENV: 'production' } },
        )
    } finally {
      closeSync(lock)
      rmSync(LOCK, { force: true })
    }
  }
}

function isStale(): boolean {
  if (!existsSync(BUILT)) return true
  const built = statSync(BUILT).mtimeMs
  const sources = readdirSync(join(ROOT, 'web'), { recursive: true, withFileTypes: true })
  return sources.some((file) => file.isFile() && statSync(join(file.parentPath, file.name)).mtimeMs > built)
}
