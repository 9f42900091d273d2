/** Values of an address, which anyone may have typed: of the wrong type, they count as not given. */

/** A text; the router reads `7` and `true` as a number and a flag. */
export const textIn = (value: unknown): string | undefined =>
  value !== '' && (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    ? String(value)
    : undefined

/** The texts of a list; undefined if there is none. */
export function textsIn(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined
  const texts = value.flatMap((one) => textIn(one) ?? [])
  return texts.length > 0 ? texts : undefined
}

/** A number; a text counts as what it says. */
export const numberIn = (value: unknown): number | undefined => {
  const text = textIn(value)
  const number = text === undefined ? Number.NaN : Number(text)
  return Number.isFinite(number) ? number : undefined
}
