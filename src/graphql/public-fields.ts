import { type GraphQLObjectType, type GraphQLSchema, isNonNullType, isObjectType } from 'graphql'
import { Problem } from '../problem.ts'
import type { Context } from './context.ts'
import type { Share } from './nodes.ts'

/**
 * The fields of batches and jobs that callers without an account may read: visitors of public projects and holders of a
 * share link. As in REST (domain/shares/public-fields.ts) a field that is not declared here is hidden from them, so a new
 * field is private until somebody decides that it is public. What an anonymous share hides beyond that is empty in the
 * views that the resolvers read.
 */
const PUBLIC: Record<string, string> = {
  Batch: `nodeId id project projectSlug status stalled stopRequested owner host hostId user commit command experimentType
    tags notes name group config summary starred archived traceback nTotal nDone nFailed nRunning slots etaS environment
    columns delivery jobDeliveries startedAt endedAt lastSeenAt elapsedS failureReason envSnapshot rerunOf can jobs metrics
    metricGroups metricClips eta health resources logLines agentCommands timeline agent shares muted`,
  Job: `nodeId jobId key batchId status model dataset params finalMetrics latest startedAt endedAt elapsedS etaS epochs
    failureReason traceback stepUnit pruned idle metrics eta resources logLines epochTimes attempts attemptMetrics`,
}

/**
 * Hides the other fields from them: null where the field may be null, `forbidden` where it may not. Changes the schema.
 * @returns the schema
 */
export function hideUndeclaredFields(schema: GraphQLSchema): GraphQLSchema {
  for (const [name, fields] of Object.entries(PUBLIC)) {
    const type = schema.getType(name)
    if (!isObjectType(type)) throw new Error(`${name} is no type of the schema`)
    hideAllBut(new Set(fields.trim().split(/\s+/)), type)
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
