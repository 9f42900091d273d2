/**
 * Whether PostgreSQL can store the text. If not, nothing has such a name, so a look-up finds nothing and is no error.
 */
export const isStorable = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** The text without characters that PostgreSQL cannot store. */
export const storablePart = (text: string): string => text.replaceAll('\u0000', '').toWellFormed()
