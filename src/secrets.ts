import { randomBytes } from 'node:crypto'

/**
 * Removes everything from a text that looks like a secret of this service. Logs and error responses should contain
 * none; this is the last safety net, for example for a token sent as a batch id, or a share link posted as a channel.
 */

/** Tokens, by their prefixes (domain/tokens). */
const TOKEN = /\b(em_live_|em_read_|ag_live_)[\w%-]+/g
/** The JWT of a session: three parts, the first two of which start with `{"`. */
const JWT = /\beyJ[\w-]{10,}\.eyJ[\w-]+\.[\w-]*/g
/** Cookies and the links in mail hold 32 random bytes, share links 24, in base64url. */
const RANDOM = /(?<![\w-])(?:[\w-]{43}|[\w-]{32})(?![\w-])/g
/** The password in the URL of a database or a mail server. */
const ADDRESS = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@"']*:)[^\s/"']+@/gi

const HIDDEN = '[hidden]'

/** @param own known secrets, such as the database's password */
export function scrub(text: string, own: readonly string[] = []): string {
  const scrubbed = text
    .replace(ADDRESS, `$1${HIDDEN}@`)
    .replace(TOKEN, `$1${HIDDEN}`)
    .replace(JWT, HIDDEN)
    .replace(RANDOM, (word) => (isRandom(word) ? HIDDEN : word))
  return own.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), scrubbed)
}

/**
 * Random bytes in base64url that `scrub` recognizes. One of 230 random texts of 24 bytes has no digit and would pass
 * for a name, so such texts are not used.
 */
export function makeSecret(bytes: 24 | 32): string {
  for (;;) {
    const text = randomBytes(bytes).toString('base64url')
    if (isRandom(text)) return text
  }
}

/** Batch names rarely have exactly this length together with a lower-case letter, an upper-case letter and a digit. */
const isRandom = (word: string): boolean => /[a-z]/.test(word) && /[A-Z]/.test(word) && /\d/.test(word)

/** The passwords in server URLs, both percent-encoded and decoded. */
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
