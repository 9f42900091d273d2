import { createHash } from 'node:crypto'
import { accessSync, chmodSync, chownSync, constants, existsSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { codeOf, messageOf } from '../../thrown.ts'
import { createFolder } from '../create-folder.ts'
import { type Account, canEnter, isRoot, unprivilegedAccount } from './account.ts'

export interface DatabaseHome {
  /** The real path of the folder that holds everything. */
  path: string
  account: Account
}

export const FALLBACK_ROOT = '/var/lib/svc'

export const dataFolder = (home: string) => join(home, 'data')
/** Checks pg_control, because initdb writes PG_VERSION long before there is a database. */
export const hasCluster = (home: string) => existsSync(join(dataFolder(home), 'global', 'pg_control'))

/** For a database that is kept aside: the path, or one after it if it is taken, as by an earlier one of the same second. */
export function unusedPath(path: string): string {
  let unused = path
  for (let n = 2; existsSync(unused); n++) unused = `${path}-${n}`
  return unused
}

/**
 * Decides where the database lives and which account runs it. Normally the database lives in the wanted folder. If we
 * are root, PostgreSQL runs as another account; if that account cannot reach the wanted folder (a clone under a home of
 * mode 0700), the data goes to `fallbackRoot/<hash of the wanted path>`, the same at every start, and this is logged. A
 * folder that already holds a cluster always takes precedence, so that a change of modes never silently leads to an
 * empty database.
 */
export async function chooseHome(
  wanted: string,
  fallbackRoot: string,
  log: (message: string) => void,
): Promise<DatabaseHome> {
  const here = await makeFolder(resolve(wanted))
  if (!isRoot()) {
    refuseForeign(here)
    return { path: here, account: null }
  }
  if (hasCluster(here)) return { path: here, account: await ownerThatCanEnter(here) }

  const apart = folderApart(here, fallbackRoot)
  const said = `${here} cannot be reached by the account that runs PostgreSQL; the database is in ${apart}`
  if (hasCluster(apart)) {
    log(said)
    return { path: realpathSync(apart), account: await ownerThatCanEnter(apart) }
  }
  const account = await unprivilegedAccount()
  if (await grantAccess(here, account)) return { path: here, account }
  log(said)
  await createFolder(fallbackRoot, 0o755)
  const path = await makeFolder(apart)
  if (await grantAccess(path, account)) return { path, account }
  throw new Error(`neither ${here} nor ${path} can be reached by the account that runs PostgreSQL`)
}

/**
 * Whether there is certainly no database for this folder, so that opening it would create one. Creates nothing. False if
 * this user may not look: opening it then says why.
 */
export function hasNoDatabase(wanted: string, fallbackRoot = FALLBACK_ROOT): boolean {
  const here = resolve(wanted)
  if (!existsSync(here)) return true
  try {
    accessSync(here, constants.R_OK | constants.X_OK)
  } catch {
    return false
  }
  if (!statSync(here).isDirectory()) return false
  return !existsSync(dataFolder(here)) && !hasCluster(folderApart(realpathSync(here), fallbackRoot))
}

const folderApart = (here: string, fallbackRoot: string): string =>
  join(fallbackRoot, createHash('sha256').update(here).digest('hex').slice(0, 16))

async function makeFolder(folder: string): Promise<string> {
  try {
    await createFolder(folder, 0o755)
    return realpathSync(folder)
  } catch (error) {
    const why = unwritable(resolve(folder, '..')) ?? messageOf(error)
    throw new Error(`the data folder ${folder} cannot be created: ${why}. SVC_DATA_DIR can name another one`)
  }
}

/**
 * The reason why nothing can be created in the folder, or in its nearest existing parent; undefined if it is writable.
 */
function unwritable(folder: string): string | undefined {
  if (!existsSync(folder))
    return folder === resolve(folder, '..') ? undefined : unwritable(resolve(folder, '..'))
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return statSync(folder).isDirectory() ? undefined : `${folder} is not a folder`
  } catch (error) {
    return codeOf(error) === 'EROFS'
      ? `${folder} is on a file system that is mounted read-only`
      : `${folder} is not writable for this user`
  }
}

function refuseForeign(home: string) {
  try {
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    throw new Error(`the data folder ${home} is not writable for this user`)
  }
  const owner = existsSync(dataFolder(home)) ? statSync(dataFolder(home)).uid : process.getuid?.()
  if (owner !== process.getuid?.())
    throw new Error(`the database in ${home} belongs to user id ${owner}: start as that user, or as root`)
}

/** The owner of the cluster runs it. PostgreSQL refuses to run as root. */
async function ownerThatCanEnter(home: string): Promise<Account> {
  const data = dataFolder(home)
  const { uid, gid } = statSync(data)
  if (uid === 0)
    throw new Error(
      `${data} belongs to root, as whom PostgreSQL does not run: chown -R it to another account`,
    )
  const account = { uid, gid }
  if (await grantAccess(home, account)) return account
  throw new Error(
    `${data} holds a database, but its owner (user id ${uid}) may not pass through the folders above it`,
  )
}

/** Grants only this account access to the home, and only if needed. Parent folders are never changed. */
async function grantAccess(home: string, account: Account): Promise<boolean> {
  if (await canEnter(account, home)) return true
  const { uid, mode } = statSync(home)
  if (uid !== 0 || account === null || !(await canEnter(account, resolve(home, '..')))) return false
  chownSync(home, uid, account.gid)
  chmodSync(home, (mode & 0o777) | 0o010)
  return canEnter(account, home)
}
