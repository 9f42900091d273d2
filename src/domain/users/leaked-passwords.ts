let common: Promise<ReadonlySet<string>> | undefined

/**
 * Checks a password against the 49,233 most common ones of known leaks, including the 10,000 that guessers try first.
 * Ignores case and the encoding of accents, because guessers vary them.
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
