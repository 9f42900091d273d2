import { randomBytes } from 'node:crypto'

/**
 * Removes from a text everything that looks like a secret of this service. The last safety net below logs
 * and error answers, in which none should be: a token in the place of a batch's id, a link to a share in a channel.
 */

/** Tokens of programs, by their prefixes (domain/tokens). */
const TOKEN = /\b(em_live_|em_read_|ag_live_)[\w%-]+/g
/** The JWT of a session: three parts, of which the first two begin with `{"`. */
const JWT = /\beyJ[\w-]{10,}\.eyJ[\w-]+\.[\w-]*/g
/** A cookie holds 32 random bytes, a share's link 24, the links in mail 32: in base64url. */
const RANDOM = /(?<![\w-])(?:[\w-]{43}|[\w-]{32})(?![\w-])/g
/** The password in an address of a database or a mail server. */
const ADDRESS = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@"']*:)[^\s/"']+@/gi

const HIDDEN = '[hidden]'

/** @param own secrets that are known by their letters, such as a database's password */
export function scrub(text: string, own: readonly string[] = []): string {
  const scrubbed = text
    .replace(ADDRESS, `$1${HIDDEN}@`)
    .replace(TOKEN, `$1${HIDDEN}`)
    .replace(JWT, HIDDEN)
    .replace(RANDOM, (word) => (isRandom(word) ? HIDDEN : word))
  return own.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), scrubbed)
}

/**
 * Random bytes in base64url, as `scrub` recognises them. One text in 230 of 24 bytes has no digit and would pass for a name.
 */
export function makeSecret(bytes: 24 | 32): string {
  for (;;) {
    const text = randomBytes(bytes).toString('base64url')
    if (isRandom(text)) return text
  }
}

/** Names of batches rarely have exactly this length and a small letter, a capital letter and a digit. */
const isRandom = (word: string): boolean => /[a-z]/.test(word) && /[A-Z]/.test(word) && /\d/.test(word)

/** The passwords within addresses of servers, as they are written there and as they are meant. */
export function passwordsIn(...urls: (string | undefined)[]): string[] {
  return urls.flatMap((url) => {
    const written = /^[a-z][a-z0-9+.-]*:\/\/[^:/@]*:(.*)@[^@]*$/i.exec(url ?? '')?.[1]
    if (written === undefined || written.length < 4) return []
    return [...new Set([written, decoded(written)])]
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
