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
import type { Subscription } from '../stream/subscription.ts'
import { costError } from './limits.ts'

/** What graphql-sse is given to run: a subscription's frames as they are, or an operation that a client sent. */

/** A subscription has one field; a document that is longer wants something else. */
const MAX_TOKENS = 1_000

/** A result with the frame that it was made of. */
export interface FrameResult extends ExecutionResult {
  frame: Frame
}

/** The subscription's frames, unchanged: the bytes of a frame are its result. */
export const framesOf = (subscription: Subscription): AsyncIterableIterator<FrameResult> =>
  resultsOf(subscription, async () => ({}))

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

/** Whether the request is a subscription, so that it is answered with a stream where the client takes one. */
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
 * A request that is not executed. graphql-sse looks whether `data` is there at all, and it must not be sent: a property that
 * is undefined, which the type of graphql-js does not foresee.
 */
export const refused = (errors: readonly GraphQLError[]): ExecutionResult => {
  const refusal: ExecutionResult = { errors }
  Object.assign(refusal, { data: undefined })
  return refusal
}

/** A subscription as graphql-js executes it, or what graphql-sse answers instead. */
export type Operation = { args: ExecutionArgs } | { answer: Response | ExecutionResult }

/**
 * Parses, validates and limits the operation of a request.
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
    if (errors.length > 0) return { answer: refused(errors) }
    const refusal = costError(schema, document, variables, name, context)
    if (refusal !== undefined) throw refusal
    return {
      args: { schema, document, operationName: name, variableValues: variables, contextValue: context },
    }
  } catch (error) {
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    return {
      answer: [JSON.stringify({ errors: [error] }), { status: 400, statusText: 'Bad Request', headers }],
    }
  }
}
