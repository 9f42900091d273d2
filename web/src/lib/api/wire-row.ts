import type { JobRowFragment } from '../../__generated__/graphql.ts'

/** A number, or the name of one that JSON cannot represent. */
export type Numeric = JobRowFragment['elapsedS']
/**
 * Converts GraphQL rows to the names that REST and the stream use: snake case, with enums in lower case. So the page
 * handles one form of each row, and its type follows from the document that requests it.
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

/** The type of a converted row. */
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

/** @param enums the fields of the row that are enums; nested values are unchanged, because a param may have any name */
export function wireRow<Row extends object, Enums extends keyof Row & string = never>(
  row: Row,
  ...enums: Enums[]
): WireRow<Row, Enums> {
  const renamed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(row))
    renamed[snake(name)] =
      (enums as string[]).includes(name) && typeof value === 'string' ? lower(value) : value
  // The type follows the same rule as the conversion.
  return renamed as WireRow<Row, Enums>
}
