import type { Db } from '../../db/sql.ts'
import type { Identity } from './identity.ts'

/** The ways in which a user may sign in. */
export interface SignInMethods {
  /** Oldest first. */
  identities: Identity[]
  password: boolean
}

export async function signInMethods(db: Db, userId: string): Promise<SignInMethods> {
  const identities = await db<Identity[]>`/* identities.list */
    select id, issuer, email, created_at as "createdAt", last_used_at as "lastUsedAt"
    from identities where user_id = ${userId} order by created_at, id`
  const [user] = await db<{ password: boolean }[]>`/* identities.password */
    select password_hash is not null as password from users where id = ${userId}`
  return { identities, password: user?.password === true }
}
