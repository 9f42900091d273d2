import { GraphQLError } from 'graphql'
import type { Logger } from 'pino'
import { databaseFault } from '../db/sql.ts'
import { levelOf } from '../domain/fault-level.ts'
import { PROBLEMS, Problem } from '../problem.ts'
import { scrub } from '../secrets.ts'

/**
 * The error that a caller sees: code and text of a Problem. An unexpected error is shown as internal; the log has its
 * details.
 */
export const maskWith =
  (log: Logger) =>
  (error: unknown): GraphQLError => {
    const graphql = error instanceof GraphQLError ? error : undefined
    const cause = graphql === undefined ? error : graphql.originalError
    if (graphql !== undefined && (cause === undefined || cause instanceof GraphQLError))
      return withCode(graphql)
    const fault = cause instanceof Problem ? undefined : databaseFault(cause)
    const problem =
      cause instanceof Problem
        ? cause
        : fault === 'unavailable' || fault === 'retry'
          ? new Problem('unavailable', { cause })
          : fault === 'timeout'
            ? new Problem('read_timeout', { cause })
            : new Problem('internal', { cause })
    if (problem.status >= 500)
      log[levelOf(problem)]({ err: problem.cause ?? problem, path: graphql?.path }, problem.title)
    return refusal(problem, graphql)
  }

/** The same error with a documented code: a fault of the document, its variables or arguments, or a value that fits no type. */
export function withCode(error: GraphQLError): GraphQLError {
  const { originalError: cause, path, extensions } = error
  const isOfRequest = path === undefined || (cause instanceof GraphQLError && cause.nodes !== undefined)
  const code = documentedCode(extensions, isOfRequest ? 'invalid_query' : 'internal')
  if (code === extensions.code) return error
  return new GraphQLError(error.message, {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    path: path ?? null,
    extensions: { ...extensions, code },
  })
}

/** The code of an error if it is one of the table, else the other one: libraries have codes of their own. */
export const documentedCode = (
  extensions: Readonly<Record<string, unknown>> | undefined,
  otherwise: keyof typeof PROBLEMS = 'invalid_query',
): string => {
  const code = extensions?.code
  return typeof code === 'string' && Object.hasOwn(PROBLEMS, code) ? code : otherwise
}

/**
 * A Problem as a GraphQL error.
 * @param at the error whose position in the query it keeps
 */
export const refusal = (problem: Problem, at?: GraphQLError): GraphQLError =>
  new GraphQLError(scrub(problem.message), {
    nodes: at?.nodes ?? null,
    source: at?.source ?? null,
    positions: at?.positions ?? null,
    path: at?.path ?? null,
    extensions: {
      code: problem.code,
      status: problem.status,
      ...(problem.errors === undefined ? {} : { errors: problem.errors }),
    },
  })
