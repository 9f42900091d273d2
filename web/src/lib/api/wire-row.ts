/**
 * Rows of GraphQL under the names that REST and the stream use, which are those of the page: a name in snake case, an enum in
 * lower case. So a row has one form, however it came, and its type follows from the document that asks for it.
 */
export const lower = <T extends string>(word: T): Lowercase<T> => word.toLowerCase() as Lowercase<T>

export const upper = <T extends string>(word: T): Uppercase<T> => word.toUpperCase() as Uppercase<T>

/** `startedAt` as `started_at`. */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${Snake<Rest>}`
    : `_${Lowercase<First>}${Snake<Rest>}`
  : Name
type Named<Row> = { [Name in keyof Row & string as Snake<Name>]: Row[Name] }

/** A row under those names, with these enums in lower case. */
export type WireRow<Row, Enums extends keyof Row = never> = Named<Omit<Row, Enums>> & {
  [Name in Enums & string as Snake<Name>]: Row[Name] extends string ? Lowercase<Row[Name]> : Row[Name]
}

const names = new Map<string, string>()
function snake(name: string): string {
  let known = names.get(name)
  if (known === undefined) {
    known = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    names.set(name, known)
  }
  return known
}

/** @param enums the fields of the row that are enums; what its values hold stays: a param may have any name */
export function wireRow<Row extends object, Enums extends keyof Row & string = never>(
  row: Row,
  ...enums: Enums[]
): WireRow<Row, Enums> {
  const renamed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row))
    renamed[snake(name)] =
      (enums as string[]).includes(name) && typeof value === 'string' ? lower(value) : value
  // The names are those of the type, which follows the same rule.
  return renamed as WireRow<Row, Enums>
}
