import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { z } from 'zod'
import type { Sql } from '../db/sql.ts'
import { recordAudit } from '../domain/audit.ts'
import type { Operator } from '../domain/caller.ts'
import { forgetChallenges, resetFactors } from '../domain/factors/index.ts'
import { closeSessionsOf } from '../domain/sessions/index.ts'
import {
  administerUser,
  createUser,
  findAccount,
  hashPassword,
  listUsers,
  nameFromEmail,
  PASSWORD,
  requireStrongPassword,
  type User,
  updateProfile,
} from '../domain/users/index.ts'
import { createWriter, write } from '../stream/commit.ts'
import type { CommandContext } from './command-context.ts'
import { onDatabase, onTables } from './database.ts'
import { printTable } from './table.ts'

export const OPERATOR: Operator = { kind: 'operator' }

/** A change of an account, and the message after it. */
interface AccountChange {
  change: { role?: User['role']; disabled?: boolean }
  said: string
}

const CHANGES = {
  'make-admin': { change: { role: 'admin' }, said: 'is an administrator' },
  'unmake-admin': { change: { role: 'user' }, said: 'is an ordinary user' },
  disable: {
    change: { disabled: true },
    said: 'is disabled: sessions are closed, tokens are revoked permanently',
  },
  enable: { change: { disabled: false }, said: 'may sign in again' },
} as const satisfies Record<string, AccountChange>

/**
 * `svc user …`: manages accounts in a shell, for operators that have lost the password of the last administrator or set
 * up a service without a browser. Works on the database of the settings, also while servers run: they read it at each
 * request.
 */
export function userCommand({ settings, input }: CommandContext): Command {
  const user = new Command('user').description('manage accounts without signing in')
  const run = (work: (sql: Sql) => Promise<void>): Promise<void> =>
    onDatabase(settings().config, (url) => onTables(url, work))
  user
    .command('list')
    .description('list all accounts with role and state')
    .action(() => run(list))
  user
    .command('create')
    .description('make an account and print its password; the first account is an administrator')
    .argument('<email>', 'address to sign in with')
    .option('--stdin', 'read the password from standard input instead of making and printing one')
    .option('--admin', 'make the account an administrator')
    .action((email: string, options: { stdin?: true; admin?: true }) =>
      run((sql) => create(sql, email, options.admin === true, options.stdin ? input : undefined)),
    )
  user
    .command('reset-password')
    .description('set a new password, print it and close all sessions; tokens stay valid')
    .argument('<email>', 'address of the account')
    .option('--stdin', 'read the password from standard input instead of making and printing one')
    .action((email: string, options: { stdin?: true }) =>
      run((sql) => resetPassword(sql, email, options.stdin ? input : undefined)),
    )
  user
    .command('reset-factors')
    .description('remove authenticator app, recovery codes and passkeys from the account')
    .argument('<email>', 'address of the account')
    .action((email: string) => run((sql) => withoutFactors(sql, email)))
  for (const [name, description] of [
    ['make-admin', 'make the account an administrator'],
    ['unmake-admin', 'make the account an ordinary user'],
    ['disable', 'refuse sign-ins to the account, close its sessions and revoke its tokens for good'],
    ['enable', 'let a disabled account sign in again; revoked tokens stay revoked'],
  ] as const)
    user
      .command(name)
      .description(description)
      .argument('<email>', 'address of the account')
      .action((email: string) => run((sql) => change(sql, email, CHANGES[name])))
  return user
}

async function list(sql: Sql): Promise<void> {
  const rows = [['ADDRESS', 'NAME', 'ROLE', 'STATE', 'SINCE']]
  let last: User | undefined
  do {
    const page: User[] = await listUsers(sql, { limit: 500, after: last })
    for (const { email, name, role, disabled, createdAt } of page)
      rows.push([email, name, role, disabled ? 'disabled' : 'active', createdAt.slice(0, 10)])
    last = page.at(-1)
  } while (last !== undefined)
  printTable(rows)
}

async function change(sql: Sql, email: string, { change, said }: AccountChange): Promise<void> {
  const { id } = await accountOf(sql, email)
  const now = new Date()
  const user = await write(createWriter(sql), async (tx) => {
    const user = await administerUser(tx, OPERATOR, id, change, now)
    if (user.disabled) await closeSessionsOf(tx, id, now)
    return user
  })
  console.error(`svc: ${user.email} ${said}`)
}

async function create(
  sql: Sql,
  email: string,
  admin: boolean,
  input: NodeJS.ReadableStream | undefined,
): Promise<void> {
  if (!z.email({ pattern: z.regexes.html5Email }).max(254).safeParse(email).success)
    throw new Error(`${email} is not an e-mail address`)
  const owner = { email, name: nameFromEmail(email) }
  const { password, madeUp } = await choosePassword(input, owner)
  const passwordHash = await hashPassword(password, 'new-account')
  const now = new Date()
  const user = await write(createWriter(sql), async (tx) => {
    const created = await createUser(tx, { ...owner, passwordHash, emailVerified: true }, 'open', now)
    await recordAudit(tx, OPERATOR, { action: 'user.registered', subject: `user:${created.id}` }, now)
    const raised = admin && created.role !== 'admin'
    return raised ? await administerUser(tx, OPERATOR, created.id, { role: 'admin' }, now) : created
  })
  console.error(`svc: ${user.email} has an account${user.role === 'admin' ? ' and is an administrator' : ''}`)
  if (madeUp) console.log(password)
}

/** The password from standard input, or a random one. */
async function choosePassword(
  input: NodeJS.ReadableStream | undefined,
  owner: { email: string; name: string },
): Promise<{ password: string; madeUp: boolean }> {
  if (input === undefined) return { password: randomBytes(15).toString('base64url'), madeUp: true }
  const password = (await text(input)).replace(/\r?\n$/, '')
  if (!PASSWORD.test(password)) throw new Error('a password has 8 to 1,024 characters')
  await requireStrongPassword(password, owner)
  return { password, madeUp: false }
}

async function resetPassword(
  sql: Sql,
  email: string,
  input: NodeJS.ReadableStream | undefined,
): Promise<void> {
  const { id, email: address, name, disabled } = await accountOf(sql, email)
  const { password, madeUp } = await choosePassword(input, { email: address, name })
  const passwordHash = await hashPassword(password)
  const now = new Date()
  await write(createWriter(sql), async (tx) => {
    await updateProfile(tx, id, { passwordHash })
    await closeSessionsOf(tx, id, now)
    await forgetChallenges(tx, id)
    await recordAudit(tx, OPERATOR, { action: 'user.password_reset', subject: `user:${id}` }, now)
  })
  console.error(`svc: ${address} has a new password; all sessions are closed, tokens go on`)
  if (disabled) console.error('svc: the account is disabled: svc user enable lets it in again')
  // The only text on standard output, so that a script can pass it on.
  if (madeUp) console.log(password)
}

async function withoutFactors(sql: Sql, email: string): Promise<void> {
  const { id, email: address } = await accountOf(sql, email)
  const now = new Date()
  await write(createWriter(sql), async (tx) => {
    await resetFactors(tx, OPERATOR, id, now)
    await closeSessionsOf(tx, id, now)
  })
  console.error(`svc: ${address} signs in with the password alone; all sessions are closed, tokens go on`)
}

/** @throws an Error with the address */
export async function accountOf(sql: Sql, email: string): Promise<User> {
  const account = await findAccount(sql, email)
  if (account === undefined) throw new Error(`no account has the address ${email}: see svc user list`)
  return account
}
