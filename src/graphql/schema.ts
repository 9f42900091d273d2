import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql'
import { builder } from './builder.ts'
import { describeMembers } from './descriptions.ts'
import { hideUndeclaredFields } from './public-fields.ts'
import './scalars.ts'
import './person.ts'
import './project.ts'
import './batch.ts'
import './job.ts'
import './insight.ts'
import './attempts.ts'
import './records.ts'
import './metric-groups.ts'
import './share.ts'
import './agents.ts'
import './deliveries.ts'
import './administered.ts'
import './comments.ts'
import './written.ts'
import './query.ts'
import './live.ts'
import './updates.ts'
import './update-messages.ts'

/** The schema of the service, from the files of all types. */
export const buildSchema = (): GraphQLSchema => describeMembers(hideUndeclaredFields(builder.toSchema()))

/** The schema that servers use. It has no state of a server, so all servers of a process share it. */
let served: GraphQLSchema | undefined
export const servedSchema = (): GraphQLSchema => {
  served ??= buildSchema()
  return served
}

/** The text of the schema, as committed in schemas/graphql. */
export const schemaText = (schema: GraphQLSchema): string =>
  `${printSchema(lexicographicSortSchema(schema))}\n`
