import type { Cursors, Listener } from './hub.ts'

/** What a tab says to the worker. */
export type WorkerRequest =
  | { say: 'want'; cursors: Cursors }
  /** Also: that the tab is there. The lock is one that it holds as long as it lives. */
  | { say: 'ask'; lock?: string }
  | { say: 'leave' }
  | { say: 'reconnect' }
/** What the worker tells a tab. */
export type WorkerMessage =
  | { tell: 'hello' }
  /** The lock is one that the worker holds as long as it lives. */
  | { tell: 'lock'; lock: string }
  /** It had taken the tab for gone, and knows nothing of it any more. */
  | { tell: 'again' }
  | { [K in keyof Listener]: { tell: K; of: Parameters<Listener[K]>[0] } }[keyof Listener]

/** Takes a lock until the tab or worker ends. Returns its name; undefined if there are no locks (plain HTTP). */
export async function holdLock(): Promise<string | undefined> {
  const { locks } = navigator as { locks?: LockManager }
  if (locks === undefined) return undefined
  const name = `live ${crypto.randomUUID()}`
  return new Promise((resolve) => {
    locks
      .request(name, () => {
        resolve(name)
        return new Promise(() => {})
      })
      .catch(() => resolve(undefined))
  })
}

/** Waits until the tab that holds the lock is closed. */
export async function onceFree(lock: string, then: () => void): Promise<void> {
  await navigator.locks.request(lock, { mode: 'shared' }, then).catch(() => {})
}
