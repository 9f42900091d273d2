import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * The lists of a request that are being completed in turns (paging.ts). Fields that are loaded for each row wait for the last
 * turn, so a long list takes as many statements as a short one.
 */
export class ListTurns {
  #open = 0
  #ended: Promise<void> | undefined
  #end: () => void = () => {}

  /** Whether rows of a list still wait for their turn. */
  get open(): boolean {
    return this.#open > 0
  }

  /** @returns called once every row had its turn */
  begin(): () => void {
    this.#open++
    this.#ended ??= new Promise((resolve) => {
      this.#end = resolve
    })
    return () => {
      this.#open--
      if (this.#open > 0) return
      this.#ended = undefined
      this.#end()
    }
  }

  /** When all rows had their turn and have asked for what they need. */
  async settled(): Promise<void> {
    while (this.#ended !== undefined) {
      await this.#ended
      await nextTurn()
    }
  }

  /** The schedule of a DataLoader that loads for all rows together. */
  readonly schedule = (load: () => void): void => {
    // Without open lists the schedule of DataLoader itself: once all promises that are ready had their turn.
    const ready = this.open ? this.settled() : Promise.resolve()
    void ready.then(() => process.nextTick(load))
  }
}

type Load = (keys: unknown[], context: { lists: ListTurns }, ...rest: object[]) => Promise<readonly unknown[]>

/**
 * What loads the values of a field, called once for all rows of lists that are completed in turns.
 * @param aligned whether it returns a value for each key; otherwise every caller gets all values
 */
export function together(load: Load, aligned: boolean): Load {
  /** Keys that wait, by what all calls of one field of one request have in common. */
  const waiting = new WeakMap<object, { keys: unknown[]; values: Promise<readonly unknown[]> }>()
  return async (keys, context, ...rest) => {
    const field = rest[1] ?? context
    let pool = waiting.get(field)
    if (pool === undefined) {
      if (!context.lists.open) return load(keys, context, ...rest)
      const all: unknown[] = []
      const values = context.lists.settled().then(() => {
        waiting.delete(field)
        return load(all, context, ...rest)
      })
      pool = { keys: all, values }
      waiting.set(field, pool)
    }
    const from = pool.keys.length
    pool.keys.push(...keys)
    const values = await pool.values
    return aligned ? values.slice(from, from + keys.length) : values
  }
}
