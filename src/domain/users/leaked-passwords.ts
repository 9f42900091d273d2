let common: Promise<ReadonlySet<string>> | undefined

/**
 * Whether the password is among the 49,233 most common ones of known leaks, which contain the 10,000 that every guesser
 * tries first. Ignores case and the encoding of accents, because guessers try both.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  common ??= loadCommon()
  return (await common).has(password.normalize('NFKC').toLowerCase())
}

/** They take 5 MB, so a server loads them when the first password is chosen. */
async function loadCommon(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'].map((word) => String(word).toLowerCase()))
}
