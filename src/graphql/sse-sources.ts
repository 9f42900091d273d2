import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  validate,
} from 'graphql'
import type { Response } from 'graphql-sse'
import type { Frame } from '../stream/frame.ts'
import type { Subscription } from '../stream/subscription.ts'
import { costError } from './limits.ts'

/** What graphql-sse is given to run: a subscription's frames as they are, or an operation that a client sent. */

/** A context as graphql-sse's types want it. */
export type OperationContext = Record<PropertyKey, unknown> | undefined

/** A subscription has one field; a document that is longer wants something else. */
const MOST_TOKENS = 1_000

interface FrameResult extends ExecutionResult {
  frame: Frame
}
export const frameOf = (result: object): Frame | undefined => (result as Partial<FrameResult>).frame

/** The subscription's frames, disguised as results. graphql-sse frees a source only if it has all three methods. */
export function framesOf(subscription: Subscription): AsyncIterableIterator<FrameResult> {
  const over = { done: true, value: undefined } as const
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      const { done, value } = await subscription.next()
      return done ? over : { done: false, value: { frame: value } }
    },
    async return() {
      await subscription.return()
      return over
    },
    async throw(error) {
      await subscription.return()
      throw error
    },
  }
}

/** The same subscription; `seen` is told of each frame on its way. */
export const through = (subscription: Subscription, seen: (frame: Frame) => void): Subscription => ({
  [Symbol.asyncIterator]() {
    return this
  },
  async next() {
    const result = await subscription.next()
    if (result.done !== true) seen(result.value)
    return result
  },
  return: () => subscription.return(),
  throw: (error) => subscription.throw(error),
  get caughtUpTo() {
    return subscription.caughtUpTo
  },
})

/** Whether the request is a subscription, so that it is answered with a stream where the client takes one. */
export function isSubscription({ query, operationName }: Record<string, unknown>): boolean {
  try {
    const document = parse(String(query), { maxTokens: MOST_TOKENS, noLocation: true })
    const name = typeof operationName === 'string' ? operationName : undefined
    return getOperationAST(document, name)?.operation === 'subscription'
  } catch {
    return false
  }
}

/** What graphql-sse executes; or its answer, where only subscriptions are served. */
export function argumentsOf(
  schema: GraphQLSchema,
  params: Record<string, unknown>,
  contextValue: OperationContext,
) {
  const { query, variables, operationName } = params
  try {
    const document = parse(String(query), { maxTokens: MOST_TOKENS })
    const name = typeof operationName === 'string' ? operationName : undefined
    if (getOperationAST(document, name)?.operation !== 'subscription') {
      throw new GraphQLError('Only subscriptions are streamed: send queries to /graphql as JSON')
    }
    const valid = validate(schema, document, undefined, { maxErrors: 1 }).length === 0
    // What is not valid is said by graphql-sse.
    if (valid) {
      const given = (variables ?? {}) as Record<string, unknown>
      const refusal = costError(schema, document, given, name, contextValue ?? {})
      if (refusal !== undefined) throw refusal
    }
    return {
      schema,
      document,
      operationName: name,
      variableValues: variables as Record<string, unknown> | undefined,
      contextValue,
    }
  } catch (error) {
    const refused: Response = [
      JSON.stringify({ errors: [error] }),
      {
        status: 400,
        statusText: 'Bad Request',
        headers: { 'content-type': 'application/json; charset=utf-8' },
      },
    ]
    return refused
  }
}
