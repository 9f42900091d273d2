import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long work may hold the event loop before others get a turn. */
const TURN_MS = 8

/** Divides long work, so that requests that take a millisecond need not wait for one that takes seconds. */
export interface Turns {
  /** Whether the work has held the event loop for long enough. */
  readonly due: boolean
  /** Lets others run. */
  pass(): Promise<void>
}

/** @param pass what lets others run; by default everything that is ready runs once */
export function createTurns(pass: () => Promise<unknown> = () => nextTurn()): Turns {
  let since = performance.now()
  return {
    get due() {
      return performance.now() - since > TURN_MS
    },
    async pass() {
      await pass()
      since = performance.now()
    },
  }
}

/** The same parts, with turns of others between them. */
export async function* inTurns<T>(
  parts: AsyncIterable<T> | Iterable<T>,
  turns = createTurns(),
): AsyncGenerator<T> {
  for await (const part of parts) {
    yield part
    if (turns.due) await turns.pass()
  }
}
