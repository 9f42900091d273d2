import type { MediaKey } from '../lib/api/media.ts'

/** The step that a page shows at first: the last one of most keys. */
export function lastStepOf(keys: readonly MediaKey[]): number | undefined {
  const counts = new Map<number, number>()
  for (const { last_step } of keys) counts.set(last_step, (counts.get(last_step) ?? 0) + 1)
  let best: number | undefined
  for (const [step, n] of counts) {
    const most = best === undefined ? 0 : (counts.get(best) ?? 0)
    if (n > most || (n === most && step > (best ?? step))) best = step
  }
  return best
}
