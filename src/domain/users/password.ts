import { randomBytes } from 'node:crypto'
import { argon2id, hash, verify } from 'argon2'
import { createBoundedQueue } from '../../bounded-queue.ts'
import { Problem } from '../../problem.ts'
import { isGuessablePassword, type PasswordOwner } from './guessable-passwords.ts'
import { isCommonPassword } from './leaked-passwords.ts'

const COST = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/**
 * A hash takes 19 MiB and tens of milliseconds of one core, so at most two run at once (contract §3). New accounts
 * never take both places: however many register, people can still sign in.
 */
const gate = createBoundedQueue({
  atOnce: 2,
  lanes: { 'sign-in': { atOnce: 2, waiting: 100 }, 'new-account': { atOnce: 1, waiting: 100 } },
})

const base64 = (bytes: number): string => randomBytes(bytes).toString('base64').replaceAll('=', '')
/** A hash of no password, with the same cost: an unknown address costs the same time as a wrong password. */
const DUMMY_HASH = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${base64(16)}$${base64(32)}`

/** A valid password: 8 to 1,024 characters (contract §3). */
export const PASSWORD = /^\P{Cs}{8,1024}$/u

/** Normalises the password: keyboards differ in how they compose accented letters. */
const normal = (password: string): string => password.normalize('NFKC')

/** Refuses passwords that guessers try first. Throws `password_too_common`, `password_guessable`. */
export async function requireStrongPassword(password: string, owner: PasswordOwner): Promise<void> {
  const refuse = (code: 'password_too_common' | 'password_guessable', message: string): never => {
    throw new Problem(code, { errors: [{ path: 'password', message }] })
  }
  if (await isCommonPassword(password)) refuse('password_too_common', 'is one of the most common passwords')
  if (isGuessablePassword(password, owner))
    refuse(
      'password_guessable',
      'must not be made of your address, your name, the name of this service or repeated characters',
    )
}

/**
 * @param lane whether the work is for an existing account or for a registration
 * @returns the argon2id hash in PHC form. Throws `overloaded` when too many hashes are waiting.
 */
export const hashPassword = (
  password: string,
  lane: 'sign-in' | 'new-account' = 'sign-in',
): Promise<string> => gate.run(lane, () => hash(normal(password), COST))

/**
 * Whether the password matches the hash; false without a hash (an unknown user, or one with another way to sign in),
 * after the same time. Throws `overloaded` if too many hashes are waiting.
 */
export async function verifyPassword(
  passwordHash: string | null | undefined,
  password: string,
): Promise<boolean> {
  const right = await gate.run('sign-in', () => verify(passwordHash ?? DUMMY_HASH, normal(password)))
  return right && passwordHash != null
}
