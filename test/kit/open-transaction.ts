import type { Sql, Tx } from '../../src/db/sql.ts'

export interface OpenTransaction {
  /** Commits, unless that has been done. */
  release(): Promise<void>
}

/** A transaction that did `work` and stays open, with its locks, until it is released. */
export async function openTransaction(
  sql: Sql,
  work: (tx: Tx) => Promise<unknown>,
): Promise<OpenTransaction> {
  let commit = (): void => {}
  const released = new Promise<void>((resolve) => {
    commit = resolve
  })
  let done: Promise<unknown> = Promise.resolve()
  await new Promise<void>((ready, failed) => {
    done = sql.begin(async (tx) => {
      await work(tx)
      ready()
      await released
    })
    done.catch(failed)
  })
  return {
    async release() {
      commit()
      await done
    },
  }
}
