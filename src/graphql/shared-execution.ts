import { createHash } from 'node:crypto'
import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  type FieldNode,
  GraphQLError,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  print,
  visit,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import { required } from '../checked.ts'
import { type Caller, payerOf } from '../domain/caller.ts'
import type { Frame } from '../stream/frame.ts'
import type { CostLimits } from './limits.ts'
import { type FrameResult, refused, resultsOf } from './sse-sources.ts'

/**
 * Executes subscriptions over the frames of the hub. A result is shared by all subscribers that ask for the same: the
 * same document (but for the name of the operation, the alias of its field and white space) and variables (`after`
 * aside), with the same credential. So a change that a thousand anonymous readers of a public batch follow is executed
 * once. An execution waits until the budget of its first subscriber covers it, and one of a visitor for a place of the
 * visitors; what changes meanwhile is part of the next result (stream/newest.ts).
 */
export interface SharedExecution {
  /**
   * The results of a subscription, one for each frame of its source, or the errors that it is refused with.
   * @param subscriber.contextFor makes a new context for each execution: what one request reads once is read again for
   *   each frame
   * @param subscriber.cost of one result
   * @param subscriber.hasLeft whether the subscriber needs no further result
   */
  subscribe(
    args: ExecutionArgs,
    subscriber: { caller: Caller; contextFor: () => unknown; cost: number; hasLeft: () => boolean },
  ): Promise<AsyncIterableIterator<FrameResult> | ExecutionResult>
  readonly counts: { executed: number; shared: number }
}

/**
 * How long results are kept: subscribers get a change within milliseconds of each other; those that reconnect take
 * longer.
 */
const KEPT_MS = 5_000
/** The total size of the frames whose results are kept, in bytes. */
const MAX_BYTES = 8 * 1024 * 1024
const MAX_RESULTS = 1_000
/** How many records a change names, by the estimate of the cost of a result. */
export const NAMED_AT_ONCE = 100

interface Shared {
  result: Promise<ExecutionResult>
  /** Of each subscriber that waits for it. */
  left: (() => boolean)[]
}

export function createSharedExecution({ budget, visitors }: CostLimits): SharedExecution {
  // A result may be far larger than its frame: it goes when its time is over, and not only when a newer one needs its place.
  const results = new LRUCache<string, Shared>({
    maxSize: MAX_BYTES,
    max: MAX_RESULTS,
    ttl: KEPT_MS,
    ttlAutopurge: true,
  })
  const counts = { executed: 0, shared: 0 }

  function resultOf(
    frame: Frame,
    key: string,
    hasLeft: () => boolean,
    run: (allLeft: () => boolean) => Promise<ExecutionResult>,
  ): Promise<ExecutionResult> {
    const ofFrame = `${frame.merged?.from ?? frame.seq} ${frame.seq} ${frame.type} ${key}`
    const known = results.get(ofFrame)
    if (known !== undefined) {
      counts.shared++
      known.left.push(hasLeft)
      return known.result
    }
    counts.executed++
    const left = [hasLeft]
    const result = run(() => left.every((gone) => gone()))
    const shared = { result, left }
    results.set(ofFrame, shared, { size: frame.size })
    // A failed execution is not shared: it may work for the next subscriber.
    const forget = (): void => void (results.peek(ofFrame) === shared && results.delete(ofFrame))
    result.then(({ errors }) => errors && forget(), forget)
    return result
  }

  return {
    counts,
    async subscribe(args, { caller, contextFor, cost, hasLeft }) {
      const payer = payerOf(caller)
      const source = await createSourceEventStream(args)
      if (!(Symbol.asyncIterator in source)) return refused(source.errors ?? [])
      const asked = plain(args)
      const key = keyOf(asked.args, caller)
      // Only frames come from `live.follow`.
      return resultsOf(source as AsyncIterable<Frame>, async (frame) => {
        const named = frame.merged?.named ?? 0
        const result = await resultOf(frame, key, hasLeft, async (allLeft) => {
          const covered = await budget.wait(payer, cost * Math.max(1, named / NAMED_AT_ONCE), allLeft)
          if (!covered) return refused([new GraphQLError('The subscriber has left')])
          const contextValue = contextFor()
          const work = async () => execute({ ...asked.args, rootValue: frame, contextValue })
          return payer.kind === 'visitor' ? visitors.run(payer.key, work, allLeft) : work()
        })
        return asked.renamed(result)
      })
    },
  }
}

/**
 * The operation without its name and the alias of its field, by which the documents of two clients may differ that ask
 * for the same, and the function that gives the field of a result its alias again.
 */
function plain(args: ExecutionArgs): {
  args: ExecutionArgs
  renamed: (result: ExecutionResult) => ExecutionResult
} {
  const operation = required(getOperationAST(args.document, args.operationName))
  const field = fieldOf(operation)
  const rename = field?.alias?.value
  const { name: _name, ...nameless } = operation
  const unnamed: OperationDefinitionNode =
    field === undefined || rename === undefined
      ? nameless
      : { ...nameless, selectionSet: { kind: Kind.SELECTION_SET, selections: [withoutAlias(field)] } }
  const fragments = args.document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [unnamed, ...fragments] }
  const { operationName: _operationName, ...others } = args
  return {
    args: { ...others, document },
    renamed: (result) =>
      field === undefined || rename === undefined ? result : withAlias(result, field.name.value, rename),
  }
}

/** A subscription has one field. One within a fragment keeps its alias. */
function fieldOf({ selectionSet }: OperationDefinitionNode): FieldNode | undefined {
  const [first] = selectionSet.selections
  return selectionSet.selections.length === 1 && first?.kind === Kind.FIELD ? first : undefined
}

function withoutAlias({ alias: _alias, ...field }: FieldNode): FieldNode {
  return field
}

function withAlias(result: ExecutionResult, name: string, alias: string): ExecutionResult {
  const { data, errors } = result
  return {
    ...result,
    ...(data != null && { data: { [alias]: data[name] } }),
    ...(errors !== undefined && {
      errors: errors.map(
        (error) =>
          new GraphQLError(error.message, {
            nodes: error.nodes ?? null,
            source: error.source ?? null,
            positions: error.positions ?? null,
            path: error.path?.map((step, i) => (i === 0 ? alias : step)) ?? null,
            originalError: error.originalError ?? null,
            extensions: error.extensions,
          }),
      ),
    }),
  }
}

/** Everything that the result of a frame depends on, besides the frame and the database. */
function keyOf({ document, variableValues }: ExecutionArgs, caller: Caller): string {
  const credential = caller.kind === 'known' ? [caller.via, caller.credentialId, caller.user] : null
  const cursor = cursorVariable(document)
  const variables = Object.entries(variableValues ?? {}).filter(([name]) => name !== cursor)
  const parts = [print(document), variables.sort(), credential]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

/** The variable that is used only for `after` of the subscription: results do not depend on it. */
function cursorVariable(document: DocumentNode) {
  const operation = getOperationAST(document)
  const field = operation?.selectionSet.selections.find((selection) => selection.kind === 'Field')
  const after = field?.arguments?.find(({ name }) => name.value === 'after')?.value
  if (after?.kind !== 'Variable') return undefined
  let uses = 0
  visit(document, {
    VariableDefinition: () => false,
    Variable: ({ name }) => void (name.value === after.name.value && uses++),
  })
  return uses === 1 ? after.name.value : undefined
}
