import type { Cursors, Listener } from './hub.ts'

/** A message from a tab to the shared worker. */
export type TabMessage =
  | { kind: 'subscribe'; cursors: Cursors }
  /** Also a heartbeat. The tab holds the lock until it is closed. */
  | { kind: 'reportCursors'; lock?: string }
  | { kind: 'leave' }
  | { kind: 'reconnect' }
/** A message from the shared worker to a tab. */
export type WorkerMessage =
  | { kind: 'started' }
  /** The worker holds the lock until it ends. */
  | { kind: 'lock'; lock: string }
  /** The worker had removed the tab as closed: the tab must subscribe again. */
  | { kind: 'subscribeAgain' }
  | { [K in keyof Listener]: { kind: K; value: Parameters<Listener[K]>[0] } }[keyof Listener]

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

/** Waits until the tab or worker that holds the lock has ended. */
export async function onceReleased(lock: string, then: () => void): Promise<void> {
  await navigator.locks.request(lock, { mode: 'shared' }, then).catch(() => {})
}
