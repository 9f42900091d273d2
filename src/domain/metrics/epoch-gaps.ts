/**
 * Epochs below a job's highest that are certainly not stored: those that a later one skipped. An event that was
 * overtaken, refused for a while or kept in a spill file belongs there, and can be stored without reading the database.
 * Only gaps that this process has seen are known; other epochs may be stored or not.
 */
export class EpochGaps {
  /** The gaps, both ends included; the ones known for longest first. */
  readonly #gaps: { first: number; last: number }[] = []

  /** @param first -Infinity for the gap below the first epoch */
  add(first: number, last: number): void {
    if (first > last) return
    if (this.#gaps.length === MAX_GAPS) this.#gaps.shift()
    this.#gaps.push({ first, last })
  }

  has(epoch: number): boolean {
    return this.#find(epoch) >= 0
  }

  /** Records that an epoch is stored. */
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

/** The most gaps of one job; for forgotten ones the database is read. */
const MAX_GAPS = 64
