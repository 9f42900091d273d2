import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLResolveInfo,
  GraphQLScalarType,
  type GraphQLSchema,
  getNamedType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
} from 'graphql'
import { isPromise, type Make, NotPlain, nameOf, PLAIN, PlainRows } from './plain-rows.ts'

/**
 * Lists of rows past the executor. For each field of each row it makes a path, arguments, and an `info` of twelve
 * properties, most of which no resolver looks at: two thirds of the time of a page of 5,000 jobs went there and into
 * collecting it. Where a list is asked for nothing but fields that are made of their row alone, its rows are made here
 * by the same resolvers and the same scalars, and the executor takes the list for one leaf.
 *
 * Nothing is answered otherwise: what does not fit (a directive within, a field with arguments) is left to the executor,
 * and where a value breaks its type the whole document is executed again without this, which tells the error as ever.
 */

const Rows = new GraphQLScalarType({ name: 'Rows', serialize: (rows) => rows })
const TWIN = ' as rows'

interface Plan {
  make: Make
  /** What is read, such as `Job.status`. */
  fields: ReadonlySet<string>
}
const plans = new WeakMap<FieldNode, Plan>()

/** @param schema one of its own: each list of plain rows gets a twin, which no document can name. It is changed */
export function addTwins(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!(type instanceof GraphQLObjectType)) continue
    const fields = type.getFields()
    for (const field of Object.values(fields)) {
      if (isPlainList(field)) fields[field.name + TWIN] = twinOf(field)
    }
  }
}

const isPlainList = ({ type }: GraphQLField<unknown, unknown>): boolean =>
  isListType(isNonNullType(type) ? type.ofType : type) && PLAIN.has(getNamedType(type).name)

function twinOf(field: GraphQLField<unknown, unknown>): GraphQLField<unknown, unknown> {
  const { resolve } = field
  if (resolve === undefined) throw new Error(`${field.name} has no resolver`)
  return {
    ...field,
    name: field.name + TWIN,
    type: isNonNullType(field.type) ? new GraphQLNonNull(Rows) : Rows,
    resolve: (source, args, context, info) => {
      const { make } = plans.get(info.fieldNodes[0] as FieldNode) as Plan
      const list = resolve(source, args, context, info)
      return isPromise(list) ? list.then(make) : make(list)
    },
  }
}

/**
 * Executes a document by the twins where they answer the same.
 * @param schema one that has them
 */
export async function executeRows<Result>(
  schema: GraphQLSchema,
  document: DocumentNode,
  execute: (document: DocumentNode) => Result | Promise<Result>,
): Promise<Result> {
  const rewritten = rewrite(schema, document)
  const result = await execute(rewritten)
  const { errors } = result as { errors?: readonly { originalError?: unknown }[] }
  const broke = errors?.some(({ originalError }) => originalError instanceof NotPlain) === true
  return broke ? execute(document) : result
}

/**
 * Which fields of the type are asked for of the rows under this field; undefined where that cannot be said, or where
 * more than plain rows is asked for.
 */
export function plainFields({ fieldNodes }: GraphQLResolveInfo, type: string): string[] | undefined {
  const [node, ...others] = fieldNodes
  if (node?.selectionSet === undefined || others.length > 0) return undefined
  const fields = new Set<string>()
  for (const selection of node.selectionSet.selections) {
    if (selection.kind !== Kind.FIELD) return undefined
    const plan = plans.get(selection)
    if (plan !== undefined) for (const field of plan.fields) fields.add(field)
    else if (!BESIDE_ROWS.has(selection.name.value)) return undefined
  }
  const prefix = `${type}.`
  return [...fields].filter((field) => field.startsWith(prefix)).map((field) => field.slice(prefix.length))
}
const BESIDE_ROWS = new Set(['pageInfo', 'totalCount', '__typename'])

const rewritings = new WeakMap<GraphQLSchema, WeakMap<DocumentNode, DocumentNode>>()

function rewrite(schema: GraphQLSchema, document: DocumentNode): DocumentNode {
  let known = rewritings.get(schema)
  if (known === undefined) {
    known = new WeakMap()
    rewritings.set(schema, known)
  }
  let rewritten = known.get(document)
  if (rewritten === undefined) {
    rewritten = new Rewriting(document).of(schema)
    known.set(document, rewritten)
  }
  return rewritten
}

class Rewriting extends PlainRows {
  readonly #document: DocumentNode
  #changed = false

  constructor(document: DocumentNode) {
    super(document)
    this.#document = document
  }

  of(schema: GraphQLSchema): DocumentNode {
    const query = schema.getQueryType()
    const definitions = this.#document.definitions.map((definition) => {
      if (definition.kind !== Kind.OPERATION_DEFINITION || definition.operation !== 'query') return definition
      const { selectionSet } = definition
      const selections = query == null ? undefined : this.#selections(query, selectionSet.selections)
      return selections === undefined
        ? definition
        : { ...definition, selectionSet: { ...selectionSet, selections } }
    })
    return this.#changed && this.left >= 0 ? { ...this.#document, definitions } : this.#document
  }

  #selections(type: GraphQLObjectType, selections: readonly SelectionNode[]): readonly SelectionNode[] {
    const names = this.#names(selections)
    return selections.map((selection) => this.#selection(type, selection, names))
  }

  #selection(type: GraphQLObjectType, selection: SelectionNode, names: readonly string[]): SelectionNode {
    if (--this.left < 0) return selection
    if (selection.kind !== Kind.FIELD) {
      const inside = this.inside(type, selection)
      if (inside === undefined) return selection
      const selections = inside.map((one) => this.#selection(type, one, names))
      return { kind: Kind.INLINE_FRAGMENT, selectionSet: { kind: Kind.SELECTION_SET, selections } }
    }
    const field = type.getFields()[selection.name.value]
    // What is asked for in two places is put together by the executor, which must find it under one name.
    if (field === undefined || names.filter((name) => name === nameOf(selection)).length > 1) return selection
    const { selectionSet } = selection
    if (selectionSet === undefined) return selection
    const twin = type.getFields()[field.name + TWIN]
    const fields = new Set<string>()
    const make = twin === undefined ? undefined : this.made(field.type, [selection], fields)
    if (make !== undefined) {
      const alias = selection.alias ?? selection.name
      const node = { ...selection, alias, name: { ...selection.name, value: field.name + TWIN } }
      plans.set(node, { make, fields })
      this.#changed = true
      return node
    }
    const of = getNamedType(field.type)
    if (!isObjectType(of)) return selection
    const selections = this.#selections(of, selectionSet.selections)
    return { ...selection, selectionSet: { ...selectionSet, selections } }
  }

  /** The names of the fields that an object gets by these selections, as often as they are said. */
  #names(selections: readonly SelectionNode[]): string[] {
    return selections.flatMap((selection) => {
      if (--this.left < 0) return []
      if (selection.kind === Kind.FIELD) return [nameOf(selection)]
      const { selectionSet } =
        selection.kind === Kind.INLINE_FRAGMENT
          ? selection
          : (this.fragments.get(selection.name.value) as FragmentDefinitionNode)
      return this.#names(selectionSet.selections)
    })
  }
}
