/** GraphQL writes its enums in upper case, REST and the stream in lower case, as the page does. */
export const lower = <T extends string>(word: T): Lowercase<T> => word.toLowerCase() as Lowercase<T>

export const upper = <T extends string>(word: T): Uppercase<T> => word.toUpperCase() as Uppercase<T>

/** A row of an answer with these enums in lower case. */
export type Lower<Row, Names extends keyof Row> = Omit<Row, Names> & {
  [Name in Names]: Row[Name] extends string ? Lowercase<Row[Name]> : Row[Name]
}

export function lowerIn<Row extends object, Names extends keyof Row>(
  row: Row,
  ...names: Names[]
): Lower<Row, Names> {
  const changed: Partial<Record<keyof Row, unknown>> = { ...row }
  for (const name of names) changed[name] = lower(String(row[name]))
  // Exactly these fields changed, in the way that the type says.
  return changed as Lower<Row, Names>
}
