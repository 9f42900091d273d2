import { z } from 'zod'
import type { Caller } from '../../domain/caller.ts'
import type { Services } from '../../services.ts'
import { type Fields, type Item, TOKENS } from './answer.ts'

/** What a tool may use: GraphQL as the caller, with its rights and budget. */
export interface ToolContext {
  /** @throws ToolError with the first error of the document */
  query<Data>(document: string, variables: Record<string, unknown>): Promise<Data>
  caller: Caller
  services: Services
}

export interface Tool {
  name: string
  description: string
  input: z.ZodObject
  run: (input: never, context: ToolContext) => Promise<Fields>
}

export function tool<Shape extends z.ZodRawShape>(
  name: string,
  description: string,
  shape: Shape,
  run: (
    input: z.output<z.ZodObject<Shape & typeof common, z.core.$strict>>,
    context: ToolContext,
  ) => Promise<Fields>,
): Tool {
  return { name, description, input: z.strictObject({ ...shape, ...common }), run: run as Tool['run'] }
}

const common = {
  max_tokens: z
    .int()
    .min(TOKENS.least)
    .max(TOKENS.most)
    .default(TOKENS.usual)
    .describe('The longest answer, in tokens'),
}

export const text = z.string().min(1).max(500)
export const run = text.describe('The id of a run (a batch), as find_runs lists it')
export const project = text.optional().describe('The slug of a project; all that you see without it')
export const where = z
  .string()
  .max(2_000)
  .optional()
  .describe(
    'A query such as `lr<0.01 status:failed (optimizer:sgd OR best.val_loss<0.3)`. Names are fields, parameters, configuration and metrics (min.x, max.x, best.x, last.x)',
  )
export const metric = z.string().min(1).max(128).describe('The name of a metric, such as val_loss')
export const goal = z
  .enum(['min', 'max'])
  .optional()
  .describe('Whether less or more is better; judged by the name without it')
export const cursor = z.string().max(2_000).optional().describe('next_cursor of the last answer')
export const limit = (usual: number, most = 100) => z.int().min(1).max(most).default(usual)

/** A page of a connection. */
export interface Connection<Node> {
  edges: { cursor: string; node: Node }[]
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  totalCount: number
  unknownNames?: string[]
}

export const itemsOf = <Node>(
  { edges, pageInfo, totalCount }: Connection<Node>,
  show: (node: Node) => unknown,
): { items: Item[]; more: boolean; total: number } => ({
  items: edges.map(({ cursor: own, node }) => ({ value: show(node), cursor: own })),
  more: pageInfo.hasNextPage,
  total: totalCount,
})

/** Names in a query that nothing has, which is nearly always a misspelling. */
export const unknownNames = ({ unknownNames: names = [] }: Connection<unknown>): Fields =>
  names.length === 0 ? {} : { unknown_names: names }

export const filterOf = (input: {
  project?: string | undefined
  where?: string | undefined
}): Record<string, unknown> => ({
  ...(input.project !== undefined && { project: [input.project] }),
  ...(input.where !== undefined && input.where.trim() !== '' && { where: [input.where] }),
})

/** A name as queries quote it. */
export const quoted = (name: string): string =>
  /^[\w./-]+$/.test(name) ? name : `"${name.replace(/[\\"]/g, '\\$&')}"`

/** A number with at most six digits, for reading. */
export const short = (value: unknown): unknown =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value
export const shortAll = (values: Record<string, unknown> | null | undefined): Fields =>
  Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, short(value)]))

/** A column of a batch: the range of the values of its jobs. */
interface Range {
  low: unknown
  high: unknown
  n: number
}
/** One value where all jobs have the same one. */
export const rangeText = (range: unknown): unknown => {
  if (typeof range !== 'object' || range === null || !('low' in range)) return short(range)
  const { low, high, n } = range as Range
  return n === 1 || low === high ? short(low) : { low: short(low), high: short(high), distinct: n }
}
/** The better end of a range. */
export const bestOf = (range: unknown, wanted: 'min' | 'max'): unknown =>
  typeof range === 'object' && range !== null && 'low' in range
    ? short((range as Range)[wanted === 'min' ? 'low' : 'high'])
    : undefined
