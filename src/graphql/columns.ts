import { execute, GraphQLFloat } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Context } from './context.ts'

/**
 * Columns of numbers in answers. graphql-js completes each of a million points as a value of its own, which takes half of
 * the time of a query for series. So a resolver returns a list of one item, the whole column, which the scalars let
 * through; the answer is written with its values (json-in-turns.ts). A test compares it with the answer of graphql-js alone.
 */
export class Column {
  readonly values: readonly unknown[]
  constructor(values: readonly unknown[]) {
    this.values = values
  }
}

/** The values of a column, as one item where the answer is written by json-in-turns.ts. */
export const column = <Value>(values: Value[], { wholeColumns }: Context): Value[] =>
  wholeColumns ? ([new Column(values)] as unknown as Value[]) : values

/** Serializes values of a scalar, and lets columns of them through. */
export const orColumn =
  (serialize: (value: unknown) => unknown) =>
  (value: unknown): never =>
    (value instanceof Column ? value : serialize(value)) as never

// Pothos takes the Float of graphql-js itself.
GraphQLFloat.serialize = orColumn(GraphQLFloat.serialize)

/** Has graphql-js execute queries. */
export const byGraphqlJs = (): Plugin => ({
  onExecute({ setExecuteFn }) {
    setExecuteFn(execute)
  },
})
