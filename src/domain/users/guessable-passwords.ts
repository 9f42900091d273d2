/** The account that a password is for; guessers know both. */
export interface PasswordOwner {
  email: string
  name: string
}

/** The words of the product, which its users see with every sign-in. */
const PRODUCT = ['experimentmonitor', 'experiment', 'monitor', 'svc']
/** Shorter parts of an address or a name occur in many passwords by chance. */
const MIN_WORD = 4
/** So many letters besides the known words are no longer a variation of them. */
const MIN_OTHER_LETTERS = 4
/** Guessers repeat characters up to a likely length; up to 1,024 characters are allowed (contract §3). */
const MAX_REPEATED = 64

/** In lower case, with letters in place of the digits and signs that guessers try for them. */
const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[013457@$!]/g, (sign) => SIGNS[sign] ?? sign)
const SIGNS: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}

/** What a guesser tries first who knows the account and the product: their words, with digits and signs around them. */
function wordsOf({ email, name }: PasswordOwner): string[] {
  const texts = [email, ...email.split('@'), name].map(plain)
  const parts = texts.flatMap((text) => [text.replace(/[^\p{L}]+/gu, ''), ...text.split(/[^\p{L}]+/u)])
  return [...new Set([...parts, ...PRODUCT])]
    .filter((word) => word.length >= MIN_WORD || PRODUCT.includes(word))
    .sort((a, b) => b.length - a.length)
}

/**
 * Whether the password is made of the owner's address or name, the product's name, or a few repeated characters, with
 * digits and signs added.
 */
export function isGuessablePassword(password: string, owner: PasswordOwner): boolean {
  if (password.length <= MAX_REPEATED && /^(.{1,4}?)\1+$/u.test(password.normalize('NFKC').toLowerCase()))
    return true
  const letters = plain(password).replace(/[^\p{L}]+/gu, '')
  let rest = letters
  for (const word of wordsOf(owner)) rest = rest.replaceAll(word, '')
  return rest.length < letters.length && rest.length < MIN_OTHER_LETTERS
}
