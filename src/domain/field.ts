import type { Fragment } from 'postgres'
import { z } from 'zod'
import type { Db } from '../db/sql.ts'

/**
 * The fields of an entity, each declared once: name, type, meaning, column, and who may see it. The answers of REST and their
 * OpenAPI text (`shapeOf`), the fields of the GraphQL type (graphql/declared.ts), what shares redact (domain/shares), the
 * columns that are read, those that an event writes, and what lists find, order, group and show by (domain/lists) follow
 * from the table.
 */

/**
 * The visibility for callers without an account: visitors of public projects and readers of a share link. Required, so
 * that each new field is decided on.
 *
 *  hidden     nothing
 *  shown      the value; to an anonymous share too
 *  scrubbed   the value; an anonymous share replaces names of people and hosts, and paths, in all of its texts
 *  empty      the value; to an anonymous share null, or an empty text if the field is not nullable
 */
export type Exposure = 'hidden' | 'shown' | 'scrubbed' | 'empty'

export interface FieldType<Value = unknown> {
  shape: z.ZodType<Value>
  /** The scalar of the schema; null for a type of its own, which graphql/ names. */
  graphql: 'ID' | 'String' | 'Int' | 'Step' | 'Float' | 'Boolean' | 'DateTime' | 'Number' | 'JSON' | null
  sql: string
  list: boolean
  nullable: boolean
}

export interface Field<Value = unknown> {
  type: FieldType<Value>
  /** The description in OpenAPI and in the GraphQL schema. */
  means?: string
  public: Exposure
  /** A column of the entity's own table, if the field is that column; without it view.ts makes the value. */
  column?: string
  /** The part of a row that is read only if the caller asks for it. */
  part?: string
  /** The event whose data has the field, under the same name; a value that is not accepted is left out. */
  sent?: { by: 'job_start' | 'job_done'; accepts: (value: unknown) => boolean; otherwise?: Value }
  /** The name in GraphQL if it differs from the name in camelCase; null: not in GraphQL. */
  graphql?: string | null
  /** Whether it is absent from answers without a value. */
  optional?: true
  /** For lists of batches and jobs: its value over a row, if it is no column. Without either, no query finds it. */
  value?: (db: Db, row: Fragment) => Fragment
  /** Whether queries compare it as a whole, as a name; they search in other texts. */
  whole?: true
  /** A parameter of the list of its entity, in REST and GraphQL: a row must have one of the values that it is given. */
  filter?: ListFilter
}
interface ListFilter {
  means: string
  /** If it differs from the name of the field. */
  name?: string
  /** Null: not in GraphQL. */
  graphql?: null
}
export type Fields = Readonly<Record<string, Field>>

const typed = <Value>(
  shape: z.ZodType<Value>,
  graphql: FieldType['graphql'],
  sql: string,
  list = false,
): FieldType<Value> => ({ shape, graphql, sql, list, nullable: false })

export const id = typed(z.string(), 'ID', 'text')
export const uuid = typed(z.uuid(), 'ID', 'uuid')
/** A key that the database counts up; text to GraphQL, as every ID. */
export const serial = typed(z.int(), 'ID', 'bigint')
export const text = typed(z.string(), 'String', 'text')
export const int = typed(z.int(), 'Int', 'int')
/** A step of a series (step.ts). */
export const step = typed(z.int(), 'Step', 'bigint')
export const float = typed(z.number(), 'Float', 'float8')
export const flag = typed(z.boolean(), 'Boolean', 'boolean')
export const instant = typed(z.string().meta({ format: 'date-time' }), 'DateTime', 'timestamptz')
/** A number, or the name of one that JSON cannot write. */
export const number = typed(z.union([z.number(), z.string()]), 'Number', 'float8')
export const json = typed<Record<string, unknown>>(z.record(z.string(), z.unknown()), 'JSON', 'jsonb')
/** JSON whose shape is known. */
export const jsonOf = <Value>(shape: z.ZodType<Value>): FieldType<Value> => typed(shape, 'JSON', 'jsonb')
/** A list of such values, in columns an array. */
export const listOf = <Value>({ shape, graphql, sql }: FieldType<Value>): FieldType<Value[]> =>
  typed(z.array(shape), graphql, `${sql}[]`, true)
export const ids = listOf(id)
export const texts = listOf(text)
/** One of these words; a String in GraphQL. */
export const word = <const Words extends readonly [string, ...string[]]>(
  words: Words,
): FieldType<Words[number]> => typed<Words[number]>(z.enum(words), 'String', 'text')
/** A value with a type of its own in GraphQL: an enum, an object. */
export const own = <Value>(shape: z.ZodType<Value>, sql = 'jsonb'): FieldType<Value> =>
  typed(shape, null, sql)

/** A person, of whom the API shows no more. */
export const person = own(z.object({ id: z.string(), name: z.string() }))

export const nullable = <Value>(type: FieldType<Value>): FieldType<Value | null> => ({
  ...type,
  shape: type.shape.nullable(),
  nullable: true,
})

type ValueOf<F> = F extends { type: FieldType<infer Value> } ? Value : never
type Optional<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { optional: true } ? Name : never
}[keyof F]
/** The JSON shape of an entity. */
export type ViewOf<F extends Fields> = { [Name in Exclude<keyof F, Optional<F>>]: ValueOf<F[Name]> } & {
  [Name in Optional<F>]?: ValueOf<F[Name]>
}
/** The columns of its row that are fields. */
export type StoredOf<F extends Fields> = {
  [Name in keyof F as F[Name] extends { column: infer Column extends string } ? Column : never]: ValueOf<
    F[Name]
  >
}
/** The functions that compute fields without a column. */
export type Derived<F extends Fields, Given extends readonly unknown[]> = {
  [Name in keyof F as F[Name] extends { column: string } ? never : Name]: (
    ...given: Given
  ) => ValueOf<F[Name]> | (F[Name] extends { optional: true } ? undefined : never)
}

/** The object of these fields, for validation and for OpenAPI. */
export function shapeOf<F extends Fields>(fields: F): z.ZodType<ViewOf<F>> & z.ZodObject {
  const shape = Object.entries(fields).map(([name, { type, means, optional }]) => {
    const known = optional ? type.shape.optional() : type.shape
    return [name, means === undefined ? known : known.describe(means)]
  })
  // The entries are those of the table; the type of `Object.fromEntries` does not know that.
  return z.object(Object.fromEntries(shape)) as unknown as z.ZodType<ViewOf<F>> & z.ZodObject
}

type MakeValue<Given extends readonly unknown[]> = (...given: Given) => unknown

/**
 * Builds the view of a row.
 * @param names the fields that it has; default: all
 */
export function viewsOf<F extends Fields, Given extends readonly [row: object, ...more: unknown[]]>(
  fields: F,
  derived: Derived<F, Given>,
  names: readonly (keyof F & string)[] = Object.keys(fields),
): (...given: Given) => ViewOf<F> {
  const values = names.map((name): [string, MakeValue<Given>] => {
    const column = fields[name]?.column
    return column === undefined
      ? // It has one for each field without a column, by its type.
        [name, (derived as Record<string, MakeValue<Given>>)[name] as MakeValue<Given>]
      : [name, (...[row]: Given) => row[column as keyof typeof row]]
  })
  // V8 makes a hash table of an object that got its twentieth field one by one; a copy keeps its shape (db/wide-rows.ts).
  const blank: Record<string, unknown> = JSON.parse(
    JSON.stringify(
      Object.fromEntries(names.flatMap((name) => (fields[name]?.optional ? [] : [[name, null]]))),
    ),
  )
  return (...given) => {
    const view = { ...blank }
    for (const [name, value] of values) {
      const made = value(...given)
      if (made !== undefined || name in blank) view[name] = made
    }
    // The loop set every field of the table, which TypeScript cannot infer.
    return view as ViewOf<F>
  }
}

/** The columns of a table `t` that are fields, as a select lists them; those of a part only if it is wanted. */
export const columnsOf = (fields: Fields, table: string, part?: string): string =>
  Object.values(fields)
    .flatMap((field) =>
      field.column !== undefined && field.part === part ? [`${table}.${field.column}`] : [],
    )
    .join(', ')

/** The fields that an event of this type brings, with their columns. */
export function sentBy(fields: Fields, event: 'job_start' | 'job_done') {
  return Object.entries(fields).flatMap(([name, { column, sent, type }]) =>
    sent?.by === event && column !== undefined ? [{ name, column, sql: type.sql, ...sent }] : [],
  )
}

/** The name of a field in GraphQL; null: it is not there. */
export const graphqlName = (name: string, { graphql }: Field): string | null =>
  graphql === undefined ? camelCase(name) : graphql
export const camelCase = (name: string): string =>
  name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** The names in GraphQL of the fields that `which` selects. */
export const graphqlNames = (fields: Fields, which: (field: Field) => boolean = () => true): string[] =>
  Object.entries(fields).flatMap(([name, field]) => (which(field) ? (graphqlName(name, field) ?? []) : []))
