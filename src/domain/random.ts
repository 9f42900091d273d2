/**
 * A seeded random number generator for [0, 1) (mulberry32): the same data gives the same estimate, the same seed the
 * same test.
 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}
