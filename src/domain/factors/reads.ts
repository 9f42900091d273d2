import type { Db } from '../../db/sql.ts'

/** The second factors of an account. */
export interface Factors {
  /** When its authenticator app was set up; null without one. */
  totpSince: string | null
  recoveryCodesLeft: number
  passkeys: number
}

export async function factorsOf(db: Db, userId: string): Promise<Factors> {
  const [row] = await db<Factors[]>`/* factors.of */
    select (select confirmed_at from totp_factors where user_id = ${userId}) as "totpSince",
      (select count(*)::int from recovery_codes where user_id = ${userId} and used_at is null) as "recoveryCodesLeft",
      (select count(*)::int from passkeys where user_id = ${userId}) as passkeys`
  return row ?? { totpSince: null, recoveryCodesLeft: 0, passkeys: 0 }
}
