import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { keysOf } from '../../checked.ts'

/** The prefix shows users the scope of a token; the stored row decides. */
const PREFIXES = { reporter: 'em_live_', read: 'em_read_', agent: 'ag_live_' } as const
export type TokenKind = keyof typeof PREFIXES
const KINDS = keysOf(PREFIXES)
/** The scopes that users can create; agents get their tokens at registration. */
export const TOKEN_SCOPES = ['reporter', 'read'] as const satisfies readonly TokenKind[]
export type TokenScope = (typeof TOKEN_SCOPES)[number]

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 32
/** 62^6 is more than 2^32. */
const CHECK_LENGTH = 6

/** The kind of token a text claims to be, by its prefix; undefined for none of ours (then it may be a JWT). */
export const tokenKind = (text: string): TokenKind | undefined =>
  KINDS.find((kind) => text.startsWith(PREFIXES[kind]))

/** A new token: prefix, 32 random characters of base62 (190 bits), 6 characters that check the rest. */
export function makeToken(kind: TokenKind): string {
  const secret = Array.from({ length: SECRET_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('')
  return withCheck(PREFIXES[kind] + secret)
}

/** Whether the checksum of the text is right: a mistyped or invented token is refused without a query. */
export function hasValidChecksum(text: string): boolean {
  const kind = tokenKind(text)
  if (kind === undefined) return false
  const body = text.slice(0, -CHECK_LENGTH)
  const secret = body.slice(PREFIXES[kind].length)
  return secret.length === SECRET_LENGTH && /^[0-9A-Za-z]+$/.test(secret) && withCheck(body) === text
}

/** The stored hash of a token. Its 190 random bits need neither a salt nor a slow hash. */
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
