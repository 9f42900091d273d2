import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { type Config, ConfigError } from '../config.ts'
import { pendingMigrations } from '../db/migrate.ts'
import { openSql, type Sql } from '../db/sql.ts'
import { recordAudit } from '../domain/audit.ts'
import type { Operator } from '../domain/caller.ts'
import { resetFactors } from '../domain/factors/index.ts'
import { closeSessionsOf } from '../domain/sessions/index.ts'
import {
  administerUser,
  findAccount,
  hashPassword,
  listUsers,
  PASSWORD,
  requireUncommonPassword,
  type User,
  updateProfile,
} from '../domain/users/index.ts'
import { Problem } from '../problem.ts'
import { commit, createWriter } from '../stream/commit.ts'
import { MIGRATIONS } from './backup.ts'
import { onDatabase } from './database.ts'

const USAGE = `say what to do:
  svc user list
  svc user reset-password EMAIL [--stdin]   a new password, made up and shown once, or read from standard input
  svc user reset-factors EMAIL              without authenticator app, recovery codes and passkeys from then on
  svc user make-admin EMAIL | unmake-admin EMAIL
  svc user disable EMAIL | enable EMAIL`

const OPERATOR: Operator = { kind: 'operator' }

/** What is done to an account, and what is said once it is. */
const CHANGES: Record<string, { change: { role?: User['role']; disabled?: boolean }; said: string }> = {
  'make-admin': { change: { role: 'admin' }, said: 'is an administrator' },
  'unmake-admin': { change: { role: 'user' }, said: 'is an ordinary user' },
  disable: {
    change: { disabled: true },
    said: 'is disabled: sessions are closed, tokens are revoked for good',
  },
  enable: { change: { disabled: false }, said: 'may sign in again' },
}

/**
 * `svc user …`: accounts from a shell, for whoever has lost the last administrator's password. Works over the database
 * of the settings, also while servers run: they ask it at each request.
 * @throws an Error with one line for the operator
 */
export async function runUser(
  args: readonly string[],
  config: Config,
  input: NodeJS.ReadableStream,
): Promise<void> {
  const work = readCommand(args, input)
  await onDatabase(config, async (url) => {
    const sql = openSql(url, { name: 'user', max: 1, settings: { synchronous_commit: 'on' } })
    try {
      const pending = await pendingMigrations(sql, MIGRATIONS)
      if (pending.length > 0)
        throw new Error('the database has not the tables of this release: start the service first')
      await work(sql)
    } catch (error) {
      throw error instanceof Problem ? new Error(error.message) : error
    } finally {
      await sql.end({ timeout: 5 })
    }
  })
}

/** What is asked for; throws a ConfigError with the usage for what is not known. */
function readCommand(args: readonly string[], input: NodeJS.ReadableStream): (sql: Sql) => Promise<void> {
  const [command, email, ...flags] = args
  if (command === 'list' && email === undefined) return list
  if (command === undefined || email === undefined || email.startsWith('-')) throw new ConfigError(USAGE)
  const asked = CHANGES[command]
  if (asked !== undefined && flags.length === 0) return (sql) => change(sql, email, asked)
  if (command === 'reset-factors' && flags.length === 0) return (sql) => withoutFactors(sql, email)
  if (command !== 'reset-password' || flags.some((flag) => flag !== '--stdin')) throw new ConfigError(USAGE)
  return (sql) => resetPassword(sql, email, flags.length > 0 ? input : undefined)
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
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  for (const row of rows)
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

async function change(
  sql: Sql,
  email: string,
  { change, said }: NonNullable<(typeof CHANGES)[string]>,
): Promise<void> {
  const { id } = await accountOf(sql, email)
  const now = new Date()
  const user = await commit(createWriter(sql), async (tx) => {
    const user = await administerUser(tx, OPERATOR, id, change, now)
    if (user.disabled) await closeSessionsOf(tx, id, now)
    return { result: user, changes: [] }
  })
  console.error(`svc: ${user.email} ${said}`)
}

async function resetPassword(
  sql: Sql,
  email: string,
  input: NodeJS.ReadableStream | undefined,
): Promise<void> {
  const { id, email: address, disabled } = await accountOf(sql, email)
  const given = input === undefined ? undefined : (await text(input)).replace(/\r?\n$/, '')
  if (given !== undefined && !PASSWORD.test(given)) throw new Error('a password has 8 to 1,024 characters')
  if (given !== undefined) requireUncommonPassword(given)
  const password = given ?? randomBytes(15).toString('base64url')
  const passwordHash = await hashPassword(password)
  const now = new Date()
  await commit(createWriter(sql), async (tx) => {
    await updateProfile(tx, id, { passwordHash })
    await closeSessionsOf(tx, id, now)
    await recordAudit(tx, OPERATOR, { action: 'user.password_reset', subject: `user:${id}` }, now)
    return { result: undefined, changes: [] }
  })
  console.error(`svc: ${address} has a new password; all sessions are closed, tokens go on`)
  if (disabled) console.error('svc: the account is disabled: svc user enable lets it in again')
  // Alone on standard output, so that it can be handed on without passing through a screen.
  if (given === undefined) console.log(password)
}

async function withoutFactors(sql: Sql, email: string): Promise<void> {
  const { id, email: address } = await accountOf(sql, email)
  const now = new Date()
  await commit(createWriter(sql), async (tx) => {
    await resetFactors(tx, OPERATOR, id, now)
    await closeSessionsOf(tx, id, now)
    return { result: undefined, changes: [] }
  })
  console.error(`svc: ${address} signs in with the password alone; all sessions are closed, tokens go on`)
}

async function accountOf(sql: Sql, email: string): Promise<User> {
  const account = await findAccount(sql, email)
  if (account === undefined) throw new Error(`nobody has the address ${email}: see svc user list`)
  return account
}
