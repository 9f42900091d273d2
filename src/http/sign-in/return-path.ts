/** Pages that a sign-in does not return to, because they would begin another one. */
const LOOP = /^\/api\/oauth(\/|\?|#|$)/

const HERE = 'http://here.invalid'

/**
 * A path of our page that no browser can read as an address of another origin: literally, decoded, or with its dots
 * resolved.
 */
export function isReturnPath(text: string): boolean {
  if (text.length > 2048 || !text.startsWith('/') || /[\\\p{Cc}\p{Cs}]/u.test(text) || LOOP.test(text))
    return false
  if (!URL.canParse(text, HERE)) return false
  const { origin, pathname } = new URL(text, HERE)
  return origin === HERE && !/^\/(\/|\\|%2f|%5c|%0|%1)/i.test(pathname)
}

/** A return path as the value of a header: characters outside ASCII are encoded. */
export function locationOf(path: string): string {
  const { pathname, search, hash } = new URL(path, HERE)
  return pathname + search + hash
}
