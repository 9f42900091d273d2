import {
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  validate,
} from 'graphql'
import type { Response } from 'graphql-sse'
import { isRecord } from '../checked.ts'
import type { Frame } from '../stream/frame.ts'
import { costWithin, LIMITS } from './limits.ts'
import { withCode } from './mask.ts'

/** The operations that clients of graphql-sse send, and their results. */

/** The largest document. A subscription has one field, so a longer document is not one. */
const MAX_TOKENS = 1_000

/** A result with the frame that it was computed from. */
export interface FrameResult extends ExecutionResult {
  frame: Frame
}

/** A result for each frame of a source. graphql-sse frees a source only if it has all three methods. */
export function resultsOf(
  source: AsyncIterable<Frame>,
  resultOf: (frame: Frame) => Promise<ExecutionResult>,
): AsyncIterableIterator<FrameResult> {
  const over = { done: true, value: undefined } as const
  const frames = source[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      const { done, value: frame } = await frames.next()
      return done === true ? over : { done: false, value: { ...(await resultOf(frame)), frame } }
    },
    async return() {
      await frames.return?.()
      return over
    },
    async throw(error) {
      await frames.return?.()
      throw error
    },
  }
}

/** Whether the request is a subscription, which is answered with a stream if the client accepts one. */
export function isSubscription({ query, operationName }: Record<string, unknown>): boolean {
  try {
    const document = parse(String(query), { maxTokens: MAX_TOKENS, noLocation: true })
    const name = typeof operationName === 'string' ? operationName : undefined
    return getOperationAST(document, name)?.operation === 'subscription'
  } catch {
    return false
  }
}

/**
 * An answer without execution. graphql-sse checks whether the property `data` exists, and it must not be sent: so it is
 * undefined, which the types of graphql-js do not allow for.
 */
export const refused = (errors: readonly GraphQLError[]): ExecutionResult => {
  const refusal: ExecutionResult = { errors }
  Object.assign(refusal, { data: undefined })
  return refusal
}

/** A subscription as graphql-js executes it, or what graphql-sse answers instead. */
export type Operation = { args: ExecutionArgs; cost: number } | { answer: Response | ExecutionResult }

/**
 * Parses and validates the operation of a request, and checks its limits.
 * @param context of the operation, for the estimate of its cost and for `subscribe`
 */
export function readOperation(
  schema: GraphQLSchema,
  params: Record<string, unknown>,
  context: object,
): Operation {
  const { query, operationName } = params
  const variables = isRecord(params.variables) ? params.variables : {}
  try {
    const document = parse(String(query), { maxTokens: MAX_TOKENS })
    const name = typeof operationName === 'string' ? operationName : undefined
    if (getOperationAST(document, name)?.operation !== 'subscription') {
      throw new GraphQLError('Only subscriptions are streamed: send queries to /graphql as JSON')
    }
    const errors = validate(schema, document)
    if (errors.length > 0) return { answer: refused(errors.map(withCode)) }
    const cost = costWithin(LIMITS.updateCost, schema, document, variables, name, context)
    if (typeof cost !== 'number') throw cost
    return {
      args: { schema, document, operationName: name, variableValues: variables, contextValue: context },
      cost,
    }
  } catch (error) {
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const shown = error instanceof GraphQLError ? withCode(error) : error
    return {
      answer: [JSON.stringify({ errors: [shown] }), { status: 400, statusText: 'Bad Request', headers }],
    }
  }
}
