import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
} from 'graphql'

/** How plain rows are made of their sources, by the resolvers and scalars of the schema (plain-lists.ts). */

/** Types whose resolvers with one parameter answer at once, of their source alone. */
export const PLAIN = new Set(['JobEdge', 'Job', 'Metric', 'Smoothing', 'Resource', 'LogLineEdge', 'LogLine'])

/** More selections than these in one document are left as they are: fragments within fragments multiply. */
const MOST_SELECTIONS = 2_000

/** A value that is not what its type says, or is not there yet. */
export class NotPlain extends Error {}

export type Make = (value: unknown) => unknown

/** What one document asks of plain rows. */
export class PlainRows {
  protected readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
  protected left = MOST_SELECTIONS

  constructor(document: DocumentNode) {
    const fragments = document.definitions.filter((d) => d.kind === Kind.FRAGMENT_DEFINITION)
    this.fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]))
  }

  /** What a fragment that holds without a condition asks of an object of the type. */
  protected inside(
    type: GraphQLObjectType,
    selection: Exclude<SelectionNode, FieldNode>,
  ): readonly SelectionNode[] | undefined {
    if ((selection.directives ?? []).length > 0) return undefined
    const fragment =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : this.fragments.get(selection.name.value)
    if (fragment === undefined || (fragment.directives ?? []).length > 0) return undefined
    const condition = fragment.typeCondition?.name.value ?? type.name
    return condition === type.name ? fragment.selectionSet.selections : undefined
  }

  /** How a value of the type is made, as the executor's `completeValue` would; undefined where that takes more. */
  protected made(
    type: GraphQLOutputType,
    nodes: readonly FieldNode[],
    fields: Set<string>,
  ): Make | undefined {
    if (isNonNullType(type)) {
      const make = this.made(type.ofType, nodes, fields)
      return (
        make &&
        ((value) => {
          const made = make(value)
          if (made === null) throw new NotPlain()
          return made
        })
      )
    }
    if (isLeafType(type)) {
      return (value) => {
        if (value === null || value === undefined) return null
        if (value instanceof Error || isPromise(value)) throw new NotPlain()
        let leaf: unknown
        try {
          leaf = type.serialize(value)
        } catch {
          throw new NotPlain()
        }
        if (leaf === null || leaf === undefined) throw new NotPlain()
        return leaf
      }
    }
    if (isListType(type)) {
      const make = this.made(type.ofType, nodes, fields)
      return (
        make &&
        ((value) => {
          if (value === null || value === undefined) return null
          if (!Array.isArray(value)) throw new NotPlain()
          return value.map(make)
        })
      )
    }
    if (!isObjectType(type) || !PLAIN.has(type.name)) return undefined
    return this.#row(type, nodes, fields)
  }

  #row(type: GraphQLObjectType, nodes: readonly FieldNode[], fields: Set<string>): Make | undefined {
    const asked = new Map<string, FieldNode[]>()
    for (const { selectionSet } of nodes) {
      if (selectionSet === undefined || !this.#collect(type, selectionSet.selections, asked)) return undefined
    }
    const names: string[] = []
    const makers: Make[] = []
    for (const [name, nodes] of asked) {
      const make = this.#field(type, nodes, fields)
      if (make === undefined) return undefined
      names.push(name)
      makers.push(make)
    }
    // A copy keeps its shape, however many fields it has; from one without, V8 makes a hash table (db/wide-rows.ts).
    const none: Record<string, unknown> = JSON.parse(
      JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))),
    )
    const { isTypeOf } = type
    return (value) => {
      if (value === null || value === undefined) return null
      if (value instanceof Error || isPromise(value)) throw new NotPlain()
      // The types of rows look at nothing but the value.
      if (isTypeOf != null && isTypeOf(value, undefined, undefined as never) !== true) throw new NotPlain()
      const row = { ...none }
      for (let i = 0; i < names.length; i++) row[names[i] as string] = makers[i]?.(value)
      return row
    }
  }

  #field(type: GraphQLObjectType, nodes: readonly FieldNode[], fields: Set<string>): Make | undefined {
    const asked = (nodes[0] as FieldNode).name.value
    if (asked === '__typename') return () => type.name
    const field = type.getFields()[asked]
    // A resolver that takes one parameter is made of its source.
    if (field?.resolve === undefined || field.resolve.length > 1 || field.args.length > 0) return undefined
    const make = this.made(field.type, nodes, fields)
    if (make === undefined) return undefined
    fields.add(`${type.name}.${asked}`)
    const resolve = field.resolve as Make
    return (source) => {
      let value: unknown
      try {
        value = resolve(source)
      } catch {
        throw new NotPlain()
      }
      return make(value)
    }
  }

  /** @returns whether all of it holds without a condition */
  #collect(
    type: GraphQLObjectType,
    selections: readonly SelectionNode[],
    into: Map<string, FieldNode[]>,
  ): boolean {
    return selections.every((selection) => {
      if (--this.left < 0) return false
      if (selection.kind !== Kind.FIELD) {
        const inside = this.inside(type, selection)
        return inside !== undefined && this.#collect(type, inside, into)
      }
      const name = nameOf(selection)
      // Of an object that is copied, `__proto__` is no field.
      if (name === '__proto__' || (selection.directives ?? []).length > 0) return false
      const nodes = into.get(name)
      if (nodes === undefined) into.set(name, [selection])
      else nodes.push(selection)
      return true
    })
  }
}

export const nameOf = (field: FieldNode): string => (field.alias ?? field.name).value

export const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as Promise<unknown>).then === 'function'
