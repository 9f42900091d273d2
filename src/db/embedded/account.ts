import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { messageOf } from '../../thrown.ts'

const exec = promisify(execFile)
const NAME = 'postgres'
// The environment is not inherited: PGPORT, PGOPTIONS and the like must not reach the server. Messages are in English
// because some are parsed. (On Windows, Node adds the variables that programs need.)
const ENVIRONMENT = { LC_ALL: 'C', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }

/** The account that runs PostgreSQL: one to switch to, or null for the current one. */
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

/** Whether the account may enter this folder and every folder above it. */
export function canEnter(account: Account, folder: string): Promise<boolean> {
  if (account === null) return Promise.resolve(true)
  return runAs(account, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder]).then(
    () => true,
    () => false,
  )
}

/**
 * The unprivileged account for a new cluster when we run as root, because PostgreSQL refuses to run as root:
 * `postgres`, created if the machine does not have it.
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
