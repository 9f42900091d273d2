import { namesOfSeries } from '../domain/metrics/index.ts'
import type { Context } from './context.ts'
import type { Share } from './nodes.ts'
import type { Drawing, Metric } from './series.ts'

/** The arguments of a read of series. */
interface Asked extends Drawing {
  keys?: readonly string[] | null | undefined
}

/**
 * The arguments with the stored names of the series. An anonymous share may show them under other names, and its readers ask
 * for what it shows.
 */
export async function storedNames<Args extends Asked>(
  context: Context,
  share: Share | null,
  batchKey: number,
  args: Args,
): Promise<Args> {
  const { keys, sampling } = args
  if (share?.anonymous !== true || (keys == null && sampling?.xKey == null)) return args
  const all = (await namesOfSeries(context.db, batchKey, {})).keys
  const wanted = new Set(keys)
  return {
    ...args,
    ...(keys != null && { keys: all.filter((name) => wanted.has(share.name(name))) }),
    ...(sampling?.xKey != null && {
      sampling: {
        ...sampling,
        xKey: all.find((name) => share.name(name) === sampling.xKey) ?? sampling.xKey,
      },
    }),
  }
}

/** The series as the share shows them. */
export const shownSeries = (share: Share | null, series: readonly Metric[]): Metric[] =>
  share?.anonymous === true ? series.map((one) => ({ ...one, key: share.name(one.key) })) : [...series]
