import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
  type SelectionSetNode,
  type ValidationRule,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { createBoundedQueue } from '../bounded-queue.ts'
import { type CostBudget, costOfBytes, OPERATION_COST } from '../cost-budget.ts'
import { payerOf } from '../domain/caller.ts'
import { Problem } from '../problem.ts'
import type { VisitorPool } from '../visitor-pool.ts'
import type { Context } from './context.ts'
import { BUDGET } from './costs.ts'
import { writeInTurns } from './json-in-turns.ts'
import { refusal } from './mask.ts'

/**
 * Limits of one request. Text, depth, aliases and directives are limited while it is parsed and validated; its cost is
 * estimated from its arguments before it runs. A test requires that each bomb is refused in under 100 ms.
 */
export const LIMITS = {
  /** The longest body. A document with too many tokens is read up to here, so that the 400 can say so. */
  bodyBytes: 1024 * 1024,
  tokens: 2_000,
  /** project > batches > edges > node > jobs > edges > node > metrics > values is 9. */
  depth: 12,
  aliases: 30,
  directives: 20,
  cost: BUDGET,
  /** Each result of a subscription is computed again for every change. */
  updateCost: BUDGET / 10,
  /** A query that may cost more waits until few others run. */
  heavyCost: BUDGET / 10,
  /** How many heavy queries one process executes at a time, and how many may wait; more are refused as `overloaded`. */
  heavyAtOnce: 2,
  heavyWaiting: 50,
} as const

const CODE = 'query_too_large'
const tooLarge = (message: string): GraphQLError => new GraphQLError(message, { extensions: { code: CODE } })

/** All limits, as plugins of yoga. */
export const limits = (options: Pick<CostLimits, 'budget'>): Plugin[] => [
  textLimit(),
  shapeLimit(),
  costLimit(options),
  refusedAs400(),
]

/** What limits the cost of queries over time, and those of visitors at a time. */
export interface CostLimits {
  budget: CostBudget
  visitors: VisitorPool
}

/** Nested values and types use up the stack of the parser before they have too many tokens. */
const textLimit = (): Plugin => ({
  onParse({ parseFn, setParseFn }) {
    setParseFn((source: string, options?: object) => {
      try {
        return parseFn(source, { ...options, maxTokens: LIMITS.tokens })
      } catch (error) {
        if (error instanceof RangeError) throw tooLarge('The document is nested too deeply')
        if (error instanceof GraphQLError && /tokens\. Parsing aborted/.test(error.message))
          throw tooLarge(`The document is longer than ${LIMITS.tokens} tokens`)
        throw error
      }
    })
  },
})

/** A document that is too large is not validated further: the rules of the language may take long for it. */
const shapeLimit = (): Plugin => ({
  onValidate({ setValidationFn, validateFn }) {
    setValidationFn((schema: GraphQLSchema, document: DocumentNode, rules: readonly ValidationRule[]) => {
      const { depth, aliases, directives } = shapeOf(document)
      if (depth > LIMITS.depth) return [tooLarge(`The query is deeper than ${LIMITS.depth} levels`)]
      if (aliases > LIMITS.aliases) return [tooLarge(`The query has more than ${LIMITS.aliases} aliases`)]
      if (directives > LIMITS.directives)
        return [tooLarge(`The query has more than ${LIMITS.directives} directives`)]
      return validateFn(schema, document, rules)
    })
  },
})

interface Shape {
  depth: number
  aliases: number
  directives: number
}

/** @returns what the largest operation has, with its fragments in place of their names; introspection has no depth */
function shapeOf({ definitions }: DocumentNode): Shape {
  const fragments = new Map(
    definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one]] : [])),
  )
  // A fragment is counted once. One that contains itself counts as empty there, and is refused by the language.
  const counted = new Map<string, Shape>()
  const ofFragment = (name: string): Shape => {
    const before = counted.get(name)
    if (before !== undefined) return before
    counted.set(name, { depth: 0, aliases: 0, directives: 0 })
    const fragment = fragments.get(name)
    const shape = of(fragment?.selectionSet, fragment?.directives?.length)
    counted.set(name, shape)
    return shape
  }
  const of = (set: SelectionSetNode | undefined, directives = 0): Shape => {
    const shape: Shape = { depth: 0, aliases: 0, directives }
    for (const one of set?.selections ?? []) {
      const field = one.kind === Kind.FIELD
      const inside = one.kind === Kind.FRAGMENT_SPREAD ? ofFragment(one.name.value) : of(one.selectionSet)
      const open = field && one.name.value === '__schema'
      shape.depth = Math.max(shape.depth, open ? 0 : inside.depth + (field ? 1 : 0))
      shape.aliases += inside.aliases + (field && one.alias !== undefined ? 1 : 0)
      shape.directives += inside.directives + (one.directives?.length ?? 0)
    }
    return shape
  }
  const operations = definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION ? [of(one.selectionSet, one.directives?.length)] : [],
  )
  const most = (name: keyof Shape) => Math.max(0, ...operations.map((one) => one[name]))
  return { depth: most('depth'), aliases: most('aliases'), directives: most('directives') }
}

/**
 * A query that is too large is 400 with any accepted media type; other faults of a query are 200 with
 * application/json (GraphQL over HTTP).
 */
const refusedAs400 = (): Plugin => ({
  onExecutionResult({ result, setResult }) {
    if (result === undefined || !('errors' in result)) return
    if (!result.errors?.some(({ extensions }) => extensions?.code === CODE)) return
    setResult({ ...result, extensions: { http: { status: 400 } } })
  },
})

/**
 * Estimates the cost of the operation, with its variables, before it runs. The budget of the caller has to cover it. A
 * heavy one waits until few others run, so that heavy queries cannot use all of the database.
 */
function costLimit({ budget }: Pick<CostLimits, 'budget'>): Plugin {
  const heavy = createBoundedQueue({
    atOnce: LIMITS.heavyAtOnce,
    lanes: { query: { waiting: LIMITS.heavyWaiting } },
  })
  return {
    onExecute({ args, executeFn, setExecuteFn, setResultAndStopExecution }) {
      const { schema, document, variableValues, operationName, contextValue } = args
      const cost =
        costOf(schema, document, variableValues ?? {}, operationName ?? undefined, contextValue) ?? 0
      if (cost > LIMITS.cost) return setResultAndStopExecution({ errors: [tooCostly(cost)] })
      const { caller, turns } = contextValue as unknown as Context
      const payer = payerOf(caller)
      try {
        // The cost of a request was taken when it arrived.
        budget.take(payer, Math.max(0, cost - OPERATION_COST))
      } catch (error) {
        return setResultAndStopExecution(refusedResult(error))
      }
      const inQueue = <T>(work: () => Promise<T>): Promise<T> => {
        // A query of a visitor has its place already (handlers.ts).
        return payer.kind === 'credential' && cost > LIMITS.heavyCost ? heavy.run('query', work) : work()
      }
      setExecuteFn((given) =>
        inQueue(async () => {
          const { result, characters } = await writeInTurns(await executeFn(given), turns)
          budget.spend(payer, Math.max(0, costOfBytes(characters) - cost))
          return result
        }).catch(refusedResult),
      )
    },
  }
}

/** The answer to a query that was refused before it ran. @throws what is not a refusal */
function refusedResult(error: unknown): ExecutionResult {
  if (!(error instanceof Problem)) throw error
  const { status, retryAfterS = 1 } = error
  const http = { status, headers: { 'retry-after': String(retryAfterS) } }
  return { errors: [refusal(error)], extensions: { http } }
}

/** @returns the cost of an operation, or the error for one that may cost more than `most` */
export function costWithin(
  most: number,
  schema: GraphQLSchema,
  document: DocumentNode,
  given: Record<string, unknown>,
  operationName: string | undefined,
  context: object,
): number | GraphQLError {
  const cost = costOf(schema, document, given, operationName, context) ?? 0
  return cost <= most ? cost : tooCostly(cost, most)
}

const tooCostly = (cost: number, most: number = LIMITS.cost): GraphQLError =>
  tooLarge(
    `The ${most === LIMITS.cost ? 'query' : 'subscription, for each change,'} may read about ${Math.ceil(cost).toLocaleString('en')} rows, more than ${most.toLocaleString('en')}: ask for fewer with first`,
  )

/** @returns undefined for a document that cannot run: the executor reports what is wrong with it */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Record<string, unknown>,
  operationName?: string,
  context: object = {},
): number | undefined {
  const operation = getOperationAST(document, operationName)
  if (operation == null) return undefined
  const given = operation.variableDefinitions ?? []
  if (getVariableValues(schema, given, variables, { maxErrors: 1 }).coerced === undefined) return undefined
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  const asked: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] }
  return complexityFromQuery(asked, { schema, ctx: context, variables }).complexity
}
