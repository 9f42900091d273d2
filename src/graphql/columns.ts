import {
  type DocumentNode,
  execute,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  type GraphQLSchema,
  Kind,
  type SelectionSetNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'

/**
 * graphql-js executes queries over a second build of the schema, in which a column of numbers is one leaf: it would
 * otherwise complete each of a million points as a value of its own, which takes half of the time of a query for
 * series. Queries are validated and introspected against the public schema, which has `[Step!]!`. Otherwise the two are
 * equal; a test compares their answers.
 */

/** The fields whose resolvers return a column as finished JSON. */
const COLUMNS: Record<string, readonly string[]> = {
  Metric: ['steps', 'values', 'times', 'xValues', 'smoothed'],
  Resource: ['steps', 'timestamps', 'values'],
}

const Column = new GraphQLScalarType({ name: 'Column', serialize: (list) => list })

/** @param schema a separate build from the same types as the public schema; it is changed */
export function executeColumns(schema: GraphQLSchema): Plugin {
  for (const [name, fields] of Object.entries(COLUMNS)) {
    const type = schema.getType(name)
    if (!(type instanceof GraphQLObjectType)) throw new Error(`${name} is no type of the schema`)
    for (const name of fields) {
      const field = type.getFields()[name]
      if (field === undefined) throw new Error(`${type.name}.${name} is no field of the schema`)
      field.type = field.type instanceof GraphQLNonNull ? new GraphQLNonNull(Column) : Column
    }
  }
  return {
    onExecute({ args, setExecuteFn }) {
      // Introspection describes the public schema.
      const described = introspects(args.document)
      setExecuteFn((given) => execute(described ? given : { ...given, schema }))
    },
  }
}

/** Whether a document asks for the schema: only the root of a query has these fields. */
const introspects = ({ definitions }: DocumentNode): boolean =>
  definitions.some((definition) => 'selectionSet' in definition && asksSchema(definition.selectionSet))

const asksSchema = (set: SelectionSetNode | undefined): boolean =>
  set?.selections.some((selection) =>
    selection.kind === Kind.FIELD
      ? selection.name.value === '__schema' || selection.name.value === '__type'
      : selection.kind === Kind.INLINE_FRAGMENT && asksSchema(selection.selectionSet),
  ) ?? false
