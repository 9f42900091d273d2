import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Runs V8's garbage collector in full, so that a `WeakRef` to something unused is empty afterwards. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  // A `WeakRef` keeps its object until the turn of the event loop is over.
  await nextTurn()
  collect()
}
