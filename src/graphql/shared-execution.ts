import { createHash } from 'node:crypto'
import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  getOperationAST,
  visit,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../domain/caller.ts'
import type { Frame } from '../stream/frame.ts'
import { type FrameResult, refused, resultsOf } from './sse-sources.ts'

/**
 * Executes subscriptions over the frames of the hub. A result is shared by all subscribers that ask for the same: the
 * same document and variables (`after` aside), with the same credential. So a change that a thousand anonymous readers
 * of a public batch follow is executed once.
 */
export interface SharedExecution {
  /**
   * The results of a subscription, one for each frame of its source, or the errors that it is refused with.
   * @param contextFor makes a new context for each execution: what one request reads once is read again for each frame
   */
  subscribe(
    args: ExecutionArgs,
    caller: Caller,
    contextFor: () => unknown,
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

export function createSharedExecution(): SharedExecution {
  // A result may be far larger than its frame: it goes when its time is over, and not only when a newer one needs its place.
  const results = new LRUCache<string, Promise<ExecutionResult>>({
    maxSize: MAX_BYTES,
    max: MAX_RESULTS,
    ttl: KEPT_MS,
    ttlAutopurge: true,
  })
  const counts = { executed: 0, shared: 0 }

  function resultOf(
    frame: Frame,
    key: string,
    run: () => Promise<ExecutionResult>,
  ): Promise<ExecutionResult> {
    const ofFrame = `${frame.seq} ${frame.type} ${key}`
    const known = results.get(ofFrame)
    if (known !== undefined) {
      counts.shared++
      return known
    }
    counts.executed++
    const result = run()
    results.set(ofFrame, result, { size: frame.size })
    // A failed execution is not shared: it may work for the next subscriber.
    const forget = (): void => void (results.peek(ofFrame) === result && results.delete(ofFrame))
    result.then(({ errors }) => errors && forget(), forget)
    return result
  }

  return {
    counts,
    async subscribe(args, caller, contextFor) {
      const source = await createSourceEventStream(args)
      if (!(Symbol.asyncIterator in source)) return refused(source.errors ?? [])
      const key = keyOf(args, caller)
      // Only frames come from `live.follow`.
      return resultsOf(source as AsyncIterable<Frame>, (frame) =>
        resultOf(frame, key, async () => execute({ ...args, rootValue: frame, contextValue: contextFor() })),
      )
    },
  }
}

/** Everything that the result of a frame depends on, besides the frame and the database. */
function keyOf({ document, operationName, variableValues }: ExecutionArgs, caller: Caller): string {
  const credential = caller.kind === 'known' ? [caller.via, caller.credentialId, caller.user] : null
  const cursor = cursorVariable(document, operationName)
  const variables = Object.entries(variableValues ?? {}).filter(([name]) => name !== cursor)
  const parts = [document.loc?.source.body, operationName, variables.sort(), credential]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

/** The variable that is used only for `after` of the subscription: results do not depend on it. */
function cursorVariable(document: DocumentNode, operationName: string | null | undefined) {
  const operation = getOperationAST(document, operationName)
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
