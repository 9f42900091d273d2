import { type Fields, graphqlName } from '../domain/field.ts'
import type { builder } from './builder.ts'

type SchemaTypes = typeof builder.$inferSchemaTypes
/** The type of `t` in the fields of an object. */
type FieldBuilder<Node> = PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, Node>
type Declared<Node> = Record<string, ReturnType<FieldBuilder<Node>['field']>>

/**
 * The fields of a module's table (domain/field.ts) for its GraphQL type.
 * @param types of the fields that have a type of their own in the schema, by their names in the table
 * @param viewOf where a node keeps the values of the fields
 */
export function declared<Node extends object>(
  t: FieldBuilder<Node>,
  fields: Fields,
  types: Readonly<Record<string, unknown>>,
  viewOf: (node: Node) => object,
): Declared<Node> {
  const found: Declared<Node> = {}
  for (const [name, field] of Object.entries(fields)) {
    const inSchema = graphqlName(name, field)
    if (inSchema === null) continue
    const { graphql: scalar, list, nullable } = field.type
    const type = scalar ?? types[name]
    if (type === undefined) throw new Error(`the field ${name} needs a type of the schema`)
    found[inSchema] = t.field({
      type: list ? [type] : type,
      nullable,
      ...(field.means !== undefined && { description: field.means }),
      resolve: (node: Node) => viewOf(node)[name as never],
      // The types of the table are checked against the view where the table is defined; Pothos cannot infer
      // them here.
    } as never)
  }
  return found
}
