import type { Db } from '../../db/sql.ts'
import type { CreationPosition } from '../cursors.ts'
import { isUuid } from '../uuid.ts'
import { emailKey, type User } from './user.ts'

export async function findUser(db: Db, id: string): Promise<User | undefined> {
  if (!isUuid(id)) return undefined
  const [user] = await db<User[]>`/* users.find */
    select id, email, name, role, created_at as "createdAt", disabled_at is not null as disabled,
           email_verified_at is not null as "emailVerified"
    from users where id = ${id}`
  return user
}

/** The account of an address, with its hash (null: it has another way to sign in). */
export async function findAccount(
  db: Db,
  email: string,
): Promise<(User & { passwordHash: string | null }) | undefined> {
  const [account] = await db<(User & { passwordHash: string | null })[]>`/* users.find_account */
    select id, email, name, role, created_at as "createdAt", disabled_at is not null as disabled,
           email_verified_at is not null as "emailVerified",
           password_hash as "passwordHash"
    from users where email_key = ${emailKey(email)}`
  return account
}

export async function hasUsers(db: Db): Promise<boolean> {
  const [row] = await db<{ some: boolean }[]>`/* users.some */ select exists (select from users) as some`
  return row?.some === true
}

/** Newest first; `limit` users after `after`. */
export async function listUsers(
  db: Db,
  page: { limit: number; after: CreationPosition | undefined },
): Promise<User[]> {
  const { after } = page
  return db<User[]>`/* users.list */
    select id, email, name, role, created_at as "createdAt", disabled_at is not null as disabled,
           email_verified_at is not null as "emailVerified"
    from users
    ${after ? db`where (created_at, id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)` : db``}
    order by created_at desc, id desc limit ${page.limit}`
}
