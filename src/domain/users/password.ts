import { randomBytes } from 'node:crypto'
import { argon2id, hash, verify } from 'argon2'
import { createGate } from './gate.ts'

const COST = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/**
 * A hash takes 19 MiB and tens of milliseconds of one core, so two at once are enough to be quick and few enough to
 * leave the machine to the events; who would have to wait for more than a hundred others is refused.
 */
const gate = createGate({ atOnce: 2, waiting: 100 })

const base64 = (bytes: number): string => randomBytes(bytes).toString('base64').replaceAll('=', '')
/** Nobody's hash, with the same cost: an unknown address costs the same time as a wrong password. */
const NOBODY = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${base64(16)}$${base64(32)}`

/** What may be one: 8 to 1,024 characters (contract §3). */
export const PASSWORD = /^\P{Cs}{8,1024}$/u

/** One spelling of what looks the same: keyboards differ in how they compose an accented letter. */
const normal = (password: string): string => password.normalize('NFKC')

/** @returns the argon2id hash in PHC form. Throws `overloaded` when too many hashes are waiting. */
export const hashPassword = (password: string): Promise<string> =>
  gate.through(() => hash(normal(password), COST))

/**
 * Whether the password is the one behind the hash; false without a hash (an unknown user, or one who signs in
 * elsewhere), after the same work. Throws `overloaded` when too many hashes are waiting.
 */
export async function verifyPassword(
  passwordHash: string | null | undefined,
  password: string,
): Promise<boolean> {
  const right = await gate.through(() => verify(passwordHash ?? NOBODY, normal(password)))
  return right && passwordHash != null
}
