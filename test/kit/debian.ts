import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/debian')
const run = promisify(execFile)

/**
 * The files of a package of this Debian or Ubuntu, unpacked without being installed (no root is needed).
 * @returns the folder that stands for `/`
 * @throws Error in one line, where there is no apt or no such package
 */
export async function debianPackage(name: string): Promise<string> {
  const root = join(CACHE, name)
  if (existsSync(root)) return root
  mkdirSync(CACHE, { recursive: true })
  const scratch = mkdtempSync(join(CACHE, 'get-'))
  try {
    // Lists and caches of its own, so that it works for any user and changes nothing on the machine.
    const own = ['lists', 'archives'].map((folder) => join(scratch, folder))
    for (const folder of own) mkdirSync(join(folder, 'partial'), { recursive: true })
    const options = ['-o', `Dir::State::lists=${own[0]}`, '-o', `Dir::Cache=${scratch}`, '-qq']
    const apt = (...args: string[]) =>
      run('apt-get', [...options, ...args], { cwd: scratch, timeout: 180_000 })
    await apt('download', name).catch(async () => {
      await apt('update')
      await apt('download', name)
    })
    const file = readdirSync(scratch).find((one) => one.endsWith('.deb'))
    if (file === undefined) throw new Error('apt-get downloaded nothing')
    const unpacked = join(scratch, 'unpacked')
    await run('dpkg', ['-x', join(scratch, file), unpacked])
    if (!existsSync(root)) renameSync(unpacked, root)
    return root
  } catch (error) {
    throw new Error(
      `the package ${name} is not available from Debian (apt-get, dpkg): ${(error as Error).message.split('\n').join(' ')}`,
    )
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
