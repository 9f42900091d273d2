import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { messageOf } from '../../thrown.ts'

const exec = promisify(execFile)
const NAME = 'postgres'
// Not inherited: PGPORT, PGOPTIONS and the like of the calling process must not reach the server. Messages in English,
// because some of them are read. (On Windows, Node adds the variables that a program cannot do without.)
const ENVIRONMENT = { LC_ALL: 'C', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }

/** Who runs PostgreSQL: an account to change to, or null for the one we already are. */
export type Account = { uid: number; gid: number } | null

export const isRoot = () => process.getuid?.() === 0

/** Runs a program as the account. Rejects with its exit code, stdout and stderr. */
export function runAs(
  account: Account,
  file: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<{ stdout: string; stderr: string }> {
  return exec(file, args, {
    ...account,
    cwd: options.cwd ?? '/',
    env: { ...ENVIRONMENT, ...options.env },
    maxBuffer: 16 * 1024 * 1024,
  })
}

/** Whether the account can pass through every folder on the way to this one. */
export function canEnter(account: Account, folder: string): Promise<boolean> {
  if (account === null) return Promise.resolve(true)
  return runAs(account, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder]).then(
    () => true,
    () => false,
  )
}

/**
 * The unprivileged account for a new cluster when we are root, because PostgreSQL refuses to run as root: `postgres`,
 * created where the machine has none.
 */
export async function unprivilegedAccount(): Promise<Account> {
  const known = await lookUp()
  if (known) return known
  try {
    await exec('groupadd', ['--force', '--system', NAME], { env: ENVIRONMENT })
    const shell = ['--no-create-home', '--shell', '/usr/sbin/nologin']
    await exec('useradd', ['--system', '--gid', NAME, ...shell, NAME], { env: ENVIRONMENT })
  } catch (error) {
    const second = await lookUp() // another start may have created it meanwhile
    if (second) return second
    throw new Error(
      `PostgreSQL does not run as root, and no unprivileged account could be created (${messageOf(error).trim()}). ` +
        `Start as an ordinary user, create an account named ${NAME}, or set SVC_DATABASE_URL.`,
    )
  }
  return lookUp()
}

async function lookUp(): Promise<Account> {
  const id = async (flag: string) => Number((await exec('id', [flag, NAME], { env: ENVIRONMENT })).stdout)
  try {
    return { uid: await id('-u'), gid: await id('-g') }
  } catch {
    return null
  }
}
