import { type GraphQLObjectType, type GraphQLSchema, isNonNullType, isObjectType } from 'graphql'
import { batchFields } from '../domain/batches/index.ts'
import { type Fields, graphqlNames } from '../domain/field.ts'
import { jobFields } from '../domain/jobs/index.ts'
import { Problem } from '../problem.ts'
import type { Context } from './context.ts'
import type { Share } from './nodes.ts'

/**
 * The fields of batches and jobs that callers without an account may read: visitors of public projects and holders of a
 * share link. Fields that are declared in tables are as public as those say; of the others, a
 * field that is not declared here is hidden from them, so a new one is private until it is declared public. What an anonymous share hides beyond that is empty in the
 * views that the resolvers read.
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
    ],
  ],
  Job: [
    ...publicIn(jobFields),
    ...['nodeId', 'metrics', 'eta', 'resources', 'logLines', 'epochTimes', 'attempts', 'attemptMetrics'],
  ],
}

function publicIn(fields: Fields): string[] {
  return graphqlNames(fields, (field) => field.public !== 'hidden')
}

/**
 * Hides the other fields from them: null where the field may be null, `forbidden` where it may not. Changes the schema.
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
