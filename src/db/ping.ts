import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

/** A frozen database answers nothing and refuses nothing. So many questions may wait for it. */
const MAX_UNANSWERED = 5

/**
 * Asks the database and waits at most `ms` for its answer. Calls at the same time share one question.
 * @returns a function that returns the answer; it throws the error of `ask`, or ETIMEDOUT
 */
export function createPing<T>(ask: () => Promise<T>, ms: number): () => Promise<T> {
  let asking: Promise<T> | undefined
  let unanswered = 0

  async function askOnce(): Promise<T> {
    if (unanswered >= MAX_UNANSWERED) throw timeout(`no answer to the last ${unanswered} questions`)
    unanswered++
    const answer = ask().finally(() => {
      unanswered--
    })
    const waiting = new AbortController()
    try {
      return await Promise.race([answer, expire(ms, waiting.signal)])
    } finally {
      waiting.abort()
    }
  }

  return () => {
    asking ??= askOnce().finally(() => {
      asking = undefined
    })
    return asking
  }
}

async function expire(ms: number, signal: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { ref: false, signal })
  // If this process was blocked, its timer is late, and the answer may have arrived but was not read yet.
  await turn()
  throw timeout(`no answer within ${ms} ms`)
}

const timeout = (message: string): Error => Object.assign(new Error(message), { code: 'ETIMEDOUT' })

/** Whether a time limit passed. The database may be well: it also passes while this process is blocked. */
export const isTimeLimit = (error: Error & { code?: unknown }): boolean =>
  error.code === 'ETIMEDOUT' ||
  error.code === 'CONNECT_TIMEOUT' ||
  // Of `pg`, which gives them no code.
  error.message === 'timeout expired' ||
  error.message === 'Query read timeout'
