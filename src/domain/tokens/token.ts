import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** What a token may do is in its prefix, for people; what counts is the row. */
const PREFIXES = { reporter: 'em_live_', read: 'em_read_' } as const
export type TokenScope = keyof typeof PREFIXES
export const TOKEN_SCOPES = Object.keys(PREFIXES) as [TokenScope, ...TokenScope[]]

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
/** 62^6 is more than 2^32. */
const CHECK_LENGTH = 6

/** The kind of token a text claims to be, by its prefix; undefined for none of ours (then it may be a JWT). */
export const tokenKind = (text: string): TokenScope | undefined =>
  TOKEN_SCOPES.find((scope) => text.startsWith(PREFIXES[scope]))

/** A new token: prefix, 32 random characters of base62 (190 bits), 6 characters that check the rest. */
export function makeToken(scope: TokenScope): string {
  const secret = Array.from({ length: SECRET_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('')
  return withCheck(PREFIXES[scope] + secret)
}

/** Whether the text is whole: a mistyped or invented token is turned away without asking the database. */
export function isWhole(text: string): boolean {
  const scope = tokenKind(text)
  if (scope === undefined) return false
  const body = text.slice(0, -CHECK_LENGTH)
  const secret = body.slice(PREFIXES[scope].length)
  return secret.length === SECRET_LENGTH && /^[0-9A-Za-z]+$/.test(secret) && withCheck(body) === text
}

/** What is kept of a token. Its 190 random bits need no salt and no slow hash. */
export const tokenHash = (text: string): Buffer => createHash('sha256').update(text).digest()

function withCheck(body: string): string {
  let rest = crc32(body)
  let check = ''
  while (check.length < CHECK_LENGTH) {
    check = BASE62[rest % 62] + check
    rest = Math.floor(rest / 62)
  }
  return body + check
}
