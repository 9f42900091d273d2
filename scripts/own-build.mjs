// The build that a server runs from.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DOCS_HASH } from './fingerprint.mjs'

/** Beside dist/, so that what the service reads of the repository has the same relative path. */
const COPY = /^\.build-[0-9a-f]{16}(\.\d+)?$/

/**
 * A server runs from a copy of the build, which no later build changes: it reads files and loads modules for as long as it
 * runs. Copies that no server uses are removed.
 * Only one process at a time may call it.
 * @returns the folder of the copy; dist/ where nothing can be written
 */
export function ownBuild(root) {
  const built = join(root, 'dist')
  try {
    const hash = createHash('sha256')
    for (const file of [join(built, '.build-hash'), join(root, DOCS_HASH)])
      hash.update(`${existsSync(file) ? readFileSync(file, 'utf8') : ''}\0`)
    const name = `.build-${hash.digest('hex').slice(0, 16)}`
    const folder = join(root, name)
    if (!existsSync(folder)) {
      const making = `${folder}.${process.pid}`
      cpSync(built, making, { recursive: true })
      renameSync(making, folder)
    }
    writeFileSync(join(folder, `.server-${process.pid}`), '')
    for (const other of readdirSync(root).filter((one) => COPY.test(one)))
      if (!isInUse(join(root, other))) rmSync(join(root, other), { recursive: true, force: true })
    return folder
  } catch (error) {
    if (!['EROFS', 'EACCES', 'EPERM', 'ENOSPC'].includes(error.code)) throw error
    return built
  }
}

/** Whether a server runs from it; forgets those that have ended. */
function isInUse(folder) {
  const servers = readdirSync(folder).filter((file) => /^\.server-\d+$/.test(file))
  const ended = servers.filter((file) => !isAlive(Number(file.slice('.server-'.length))))
  for (const file of ended) rmSync(join(folder, file), { force: true })
  return servers.length > ended.length
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code !== 'ESRCH'
  }
}
