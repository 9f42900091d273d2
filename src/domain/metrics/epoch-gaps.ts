/**
 * Epochs below a job's highest that are known not to be stored: those that a later one jumped over. An event that was
 * overtaken on its way, refused for a while or kept in a spill file belongs there, and can be stored without a look into
 * the database. Only gaps that this process has seen are known; about all other epochs the class makes no statement.
 */
export class EpochGaps {
  /** Both ends belong to the gap; known for longest first. */
  readonly #gaps: { first: number; last: number }[] = []

  /** @param first -Infinity below the first epoch of all */
  add(first: number, last: number): void {
    if (first > last) return
    if (this.#gaps.length === MAX_GAPS) this.#gaps.shift()
    this.#gaps.push({ first, last })
  }

  has(epoch: number): boolean {
    return this.#find(epoch) >= 0
  }

  /** An epoch is there now. */
  fill(epoch: number): void {
    const at = this.#find(epoch)
    const gap = this.#gaps[at]
    if (gap === undefined) return
    this.#gaps.splice(at, 1)
    this.add(gap.first, epoch - 1)
    this.add(epoch + 1, gap.last)
  }

  #find(epoch: number): number {
    return this.#gaps.findLastIndex(({ first, last }) => epoch >= first && epoch <= last)
  }
}

/** Of one job; what was evicted is read again. */
const MAX_GAPS = 64
