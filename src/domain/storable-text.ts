/** Whether PostgreSQL can hold the text. What it cannot hold names nothing, so it is "not found" and no error. */
export const isStorable = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** The text without what PostgreSQL cannot hold. */
export const storablePart = (text: string): string => text.replaceAll('\u0000', '').toWellFormed()
