import { dictionary } from '@zxcvbn-ts/language-common'

/**
 * The 49,233 most common passwords of known leaks, which contain the 10,000 that every guesser tries first. Compared
 * in lower case, because guessers try both.
 */
const COMMON: ReadonlySet<string> = new Set(
  dictionary['passwords-common'].map((word) => String(word).toLowerCase()),
)

/** Whether the password is among the most common ones, ignoring case and the encoding of accents. */
export const isCommonPassword = (password: string): boolean =>
  COMMON.has(password.normalize('NFKC').toLowerCase())
