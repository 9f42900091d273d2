import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql'

/**
 * The names of the fields that a query selects at a path below the field that is being resolved, so that a resolver
 * reads only the columns that are needed. Fragments are followed; a field under `@skip` or `@include` counts as selected.
 * @param path names of fields from this one down, such as `['edges', 'node']`
 */
export function selectedFields({ fieldNodes, fragments }: GraphQLResolveInfo, path: string[]): Set<string> {
  let level = fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? [])
  for (const step of path) {
    level = fieldsOf(level, fragments).flatMap(({ name, selectionSet }) =>
      name.value === step && selectionSet !== undefined ? [selectionSet] : [],
    )
  }
  return new Set(fieldsOf(level, fragments).map(({ name }) => name.value))
}

function fieldsOf(
  sets: readonly SelectionSetNode[],
  fragments: GraphQLResolveInfo['fragments'],
  seen = new Set<string>(),
): FieldNode[] {
  return sets
    .flatMap(({ selections }) => selections)
    .flatMap((selection): FieldNode[] => {
      if (selection.kind === Kind.FIELD) return [selection]
      if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf([selection.selectionSet], fragments, seen)
      const name = selection.name.value
      const fragment = fragments[name]
      // Each fragment is followed only once.
      if (fragment === undefined || seen.has(name)) return []
      seen.add(name)
      return fieldsOf([fragment.selectionSet], fragments, seen)
    })
}
