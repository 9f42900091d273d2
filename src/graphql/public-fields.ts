import { type GraphQLObjectType, type GraphQLSchema, isNonNullType, isObjectType } from 'graphql'
import { batchFields } from '../domain/batches/index.ts'
import { type Fields, graphqlNames } from '../domain/field.ts'
import { jobFields } from '../domain/jobs/index.ts'
import { Problem } from '../problem.ts'
import type { Context } from './context.ts'
import type { Share } from './nodes.ts'

/**
 * The fields of batches and jobs that callers without an account may read: visitors of public projects and readers of a
 * share. The fields of the tables say themselves whether they are public. Other fields are hidden unless they are
 * listed here, so a new one is private until it is listed. Values that an anonymous share hides are empty in the views
 * already.
 */
const PUBLIC: Record<string, readonly string[]> = {
  Batch: [
    ...publicIn(batchFields),
    ...[
      'nodeId',
      'project',
      'envSnapshot',
      'columns',
      'delivery',
      'jobDeliveries',
      'jobs',
      'metrics',
      'metricGroups',
    ],
    ...[
      'metricClips',
      'eta',
      'health',
      'resources',
      'logLines',
      'agentCommands',
      'timeline',
      'agent',
      'shares',
      'muted',
      'comments',
    ],
  ],
  Job: [
    ...publicIn(jobFields),
    ...[
      'id',
      'nodeId',
      'metrics',
      'eta',
      'resources',
      'logLines',
      'epochTimes',
      'attempts',
      'attemptMetrics',
    ],
  ],
}

function publicIn(fields: Fields): string[] {
  return graphqlNames(fields, (field) => field.public !== 'hidden')
}

/**
 * Hides all other fields from these callers: null if the field is nullable, else `forbidden`. Changes the schema.
 * @returns the schema
 */
export function hideUndeclaredFields(schema: GraphQLSchema): GraphQLSchema {
  for (const [name, fields] of Object.entries(PUBLIC)) {
    const type = schema.getType(name)
    if (!isObjectType(type)) throw new Error(`${name} is no type of the schema`)
    hideAllBut(new Set(fields), type)
  }
  return schema
}

function hideAllBut(declared: ReadonlySet<string>, type: GraphQLObjectType): void {
  for (const field of Object.values(type.getFields())) {
    const { resolve } = field
    if (declared.has(field.name) || resolve === undefined) continue
    field.resolve = (source: { share: Share | null }, args, context: Context, info) => {
      if (source.share === null && context.caller.kind !== 'anonymous')
        return resolve(source, args, context, info)
      if (!isNonNullType(field.type)) return null
      throw new Problem('forbidden', { detail: `${type.name}.${field.name} is for signed-in callers` })
    }
  }
}
