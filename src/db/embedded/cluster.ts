import { randomBytes } from 'node:crypto'
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeOf, fieldOf, messageOf } from '../../thrown.ts'
import { type Account, runAs } from './account.ts'
import type { Binaries } from './binaries.ts'
import { type DatabaseHome, dataFolder, hasCluster } from './home.ts'
import { findProcess } from './processes.ts'

/** The password file is inside the cluster, so that the two can only be created, moved and deleted together. */
const PASSWORD_FILE = 'svc.password'
const TEMP_PREFIX = 'data.new-'

/** Makes sure that the home holds a complete cluster of the right version. Returns the password of its superuser. */
export async function ensureCluster(
  home: DatabaseHome,
  binaries: Binaries,
  log: (message: string) => void,
): Promise<string> {
  const data = dataFolder(home.path)
  removeLeftovers(home.path)
  setAsideIncomplete(home.path, log)
  if (!hasCluster(home.path)) {
    log('creating the database')
    await createCluster(home, binaries)
  }
  const version = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim()
  if (version !== binaries.major)
    throw new Error(
      `the database in ${data} was written by PostgreSQL ${version}, and this release carries ${binaries.major}: ` +
        'svc upgrade-database brings it to that version and keeps the older one beside it',
    )
  try {
    return readFileSync(join(data, PASSWORD_FILE), 'utf8').trim()
  } catch {
    throw new Error(`${join(data, PASSWORD_FILE)}, the password of the database beside it, is missing`)
  }
}

/**
 * initdb works in a temporary folder, which is then renamed to the cluster. So an interrupted start leaves no partial
 * cluster, and if two start at once, the second finds the cluster of the first and drops its own.
 */
async function createCluster({ path: home, account }: DatabaseHome, binaries: Binaries): Promise<void> {
  const temporary = join(
    home,
    `${TEMP_PREFIX}${process.pid}-${findProcess(process.pid)?.started}-${randomHex()}`,
  )
  const cluster = join(temporary, 'cluster')
  const passwordFile = join(temporary, 'password')
  try {
    mkdirSync(temporary, { mode: 0o700 })
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
    changeOwner(account, passwordFile)
    changeOwner(account, temporary)
    await runAs(account, binaries.initdb, [
      ...['-D', cluster, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      // C.UTF-8 of the builtin provider sorts text the same on every machine, independent of the C library.
      ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
      '--no-instructions',
    ])
    renameSync(passwordFile, join(cluster, PASSWORD_FILE))
    syncFolder(cluster)
    renameSync(cluster, dataFolder(home))
    syncFolder(home)
  } catch (error) {
    if (hasCluster(home)) return // another start was first
    const stderr = String(fieldOf(error, 'stderr') ?? '')
    const why = stderr.trim() || messageOf(error)
    if (/No space left on device|ENOSPC/.test(why)) throw new Error(noSpace(home))
    throw new Error(`the database could not be created in ${home}: ${why}`)
  } finally {
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
  }
}

function noSpace(home: string): string {
  const { bavail, bsize } = statfsSync(home)
  const free = ((bavail * bsize) / 1e6).toFixed(0)
  return (
    `there is no space left for the database under ${home}: an empty one takes 60 MB, and ${free} MB are free. ` +
    'Free space, or set SVC_DATA_DIR to a folder on another disk'
  )
}

/** Removes what a start that died during initdb left. The folder name contains the process that created it. */
function removeLeftovers(home: string) {
  for (const name of readdirSync(home)) {
    const [pid, started] = name.startsWith(TEMP_PREFIX) ? name.slice(TEMP_PREFIX.length).split('-') : []
    if (pid === undefined || findProcess(Number(pid))?.started === started) continue
    rmSync(join(home, name), { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Moves an incomplete `data` folder aside. It is never deleted. */
function setAsideIncomplete(home: string, log: (message: string) => void) {
  const data = dataFolder(home)
  if (!existsSync(data) || hasCluster(home)) return
  if (readdirSync(data).length === 0) return // a rename can replace an empty folder
  const aside = `${data}.incomplete-${randomHex()}`
  try {
    renameSync(data, aside)
    log(`${data} held no whole database; it is now ${aside}`)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error // another start moved it
  }
}

const randomHex = () => randomBytes(4).toString('hex')

function changeOwner(account: Account, path: string) {
  if (account) chownSync(path, account.uid, account.gid)
}

function syncFolder(folder: string) {
  if (process.platform === 'win32') return // folders cannot be opened on Windows
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
