import { rmSync } from 'node:fs'
import { messageOf } from '../thrown.ts'

/** Clean-up like that of `finally`, except that its own failure does not hide the error before it. */

type Log = (message: string) => void

/** Runs `work`, then `end`. If both fail, `end` is logged and the caller gets the error of `work`. */
export async function thenEnd<T>(work: () => Promise<T>, end: () => unknown, log: Log): Promise<T> {
  let result: T
  try {
    result = await work()
  } catch (error) {
    try {
      await end()
    } catch (second) {
      log(messageOf(second))
    }
    throw error
  }
  await end()
  return result
}

/** Removes a temporary file or folder. One that stays changes no outcome, so it is only logged. */
export function removeTemporary(path: string, log: Log): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 10 })
  } catch (error) {
    log(`${path} could not be removed: ${messageOf(error)}`)
  }
}
