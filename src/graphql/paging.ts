import type { OutputType } from '@pothos/core'
import { z } from 'zod'
import { itemAt } from '../checked.ts'
import type { Turns } from '../turns.ts'
import { builder } from './builder.ts'
import { ListTurns } from './list-turns.ts'

/**
 * Relay connections that run forward: `first` rows after a cursor (domain/cursors.ts).
 */

export interface Edge<Node> {
  readonly cursor: string
  node: Node
}

export interface Connection<Node> {
  edges: readonly Edge<Node>[]
  pageInfo: {
    hasNextPage: boolean
    hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
  /** Called only if the query selects it. */
  total: () => Promise<number> | number
  /** The names of the filter and the order that nothing in the list has; undefined for lists without names. */
  unknown?: readonly string[] | undefined
}

/** The largest page sizes. A page of jobs is what a notebook reads in one request. */
export const MAX_PAGE_SIZE = {
  projects: 500,
  batches: 500,
  jobs: 5_000,
  logLines: 1_000,
  hosts: 500,
  commands: 500,
  deliveries: 500,
  audit: 500,
  tokens: 500,
  rules: 500,
  links: 500,
  firings: 500,
  views: 500,
  // A text may have 100,000 characters.
  reports: 100,
  comments: 500,
} as const
export const DEFAULT_PAGE_SIZE = 50

export const firstArgument = (most: number) =>
  z.number().int().min(0, 'first must not be negative').max(most, `first must be at most ${most}`)

/** The arguments of a list: how many rows, and the cursor after which they begin. */
export const pageArgs = (of: keyof typeof MAX_PAGE_SIZE) =>
  builder.args((t) => ({
    first: t.int({
      required: true,
      defaultValue: DEFAULT_PAGE_SIZE,
      validate: firstArgument(MAX_PAGE_SIZE[of]),
    }),
    after: t.string(),
  }))

/**
 * @param named the type of the rows, such as Job: the types are JobConnection and JobEdge
 * @param hasNames whether its filter has names of fields
 */
export function connectionType<Type extends OutputType<typeof builder.$inferSchemaTypes>, Node>(
  named: string,
  type: Type,
  hasNames = false,
) {
  const edge = builder.objectRef<Edge<Node>>(`${named}Edge`)
  builder.objectType(edge, {
    fields: (t) => ({
      cursor: t.string({ resolve: ({ cursor }) => cursor }),
      node: t.field({ type, resolve: ({ node }) => node as never }),
    }),
  })
  const connection = builder.objectRef<Connection<Node>>(`${named}Connection`)
  builder.objectType(connection, {
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        resolve: ({ edges }, _args, { turns, lists }) => listInTurns(edges, turns, lists),
      }),
      pageInfo: t.field({ type: builder.pageInfoRef(), resolve: ({ pageInfo }) => pageInfo }),
      totalCount: t.int({
        description: 'The number of rows that match these filters, on all pages',
        resolve: ({ total }) => total(),
      }),
      ...(hasNames && {
        unknownNames: t.stringList({
          description: 'Names in the queries and the order that no row of the list has',
          resolve: ({ unknown }) => unknown ?? [],
        }),
      }),
    }),
  })
  return connection
}

/** One page of rows that were read with `first + 1`. Cursors are written when they are requested. */
export function pageOf<Row, Node>(
  rows: readonly Row[],
  options: {
    first: number
    after: unknown
    /** How many rows the search found, where those that were removed since are missing from `rows`. */
    found?: number
    nodeOf: (row: Row) => Node
    cursorOf: (row: Row) => string
    total: () => Promise<number> | number
    unknown?: readonly string[]
  },
): Connection<Node> {
  const { first, nodeOf, cursorOf } = options
  const shown = Math.min(rows.length, first)
  const edges = new Array<Edge<Node>>(shown)
  for (let i = 0; i < shown; i++) {
    const row = itemAt(rows, i)
    edges[i] = new LazyEdge(nodeOf(row), row, cursorOf)
  }
  return {
    edges,
    pageInfo: {
      hasNextPage: (options.found ?? rows.length) > first,
      hasPreviousPage: options.after !== undefined,
      get startCursor() {
        return edges[0]?.cursor ?? null
      },
      get endCursor() {
        return edges.at(-1)?.cursor ?? null
      },
    },
    total: options.total,
    unknown: options.unknown,
  }
}

/** How many items take no longer to complete than a turn. */
const AT_ONCE = 100

/**
 * A list that is completed some items at a time, so that others get their turn between them. graphql-js takes no async
 * iterables; it completes an item when its promise is fulfilled.
 */
export function listInTurns<T>(
  list: readonly T[],
  turns: Turns,
  lists = new ListTurns(),
): readonly (T | Promise<T>)[] {
  const items: (T | Promise<T>)[] = list.slice(0, AT_ONCE)
  if (list.length <= AT_ONCE) return items
  const end = lists.begin()
  let turn: Promise<void> = Promise.resolve()
  for (let at = AT_ONCE; at < list.length; at += AT_ONCE) {
    turn = turn.then(() => turns.pass())
    for (const item of list.slice(at, at + AT_ONCE)) items.push(turn.then(() => item))
  }
  void turn.then(end, end)
  return items
}

class LazyEdge<Row, Node> implements Edge<Node> {
  readonly node: Node
  readonly #row: Row
  readonly #cursorOf: (row: Row) => string
  constructor(node: Node, row: Row, cursorOf: (row: Row) => string) {
    this.node = node
    this.#row = row
    this.#cursorOf = cursorOf
  }
  get cursor(): string {
    return this.#cursorOf(this.#row)
  }
}
