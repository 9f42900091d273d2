import type { Compared } from '../../charts/compared-jobs.ts'

/** More curves are drawn on request. */
export const FIRST_DRAWN = 20

/** The first jobs of each batch, as many of each as fit into `most`, in their order. */
export function firstOfEach(rows: readonly Compared[], most: number = FIRST_DRAWN): readonly Compared[] {
  if (rows.length <= most) return rows
  const placeIn = new Map<string, number>()
  const placed = rows.map(({ batch }, at) => {
    const place = placeIn.get(batch.id) ?? 0
    placeIn.set(batch.id, place + 1)
    return { at, place }
  })
  const first = placed.sort((a, b) => a.place - b.place || a.at - b.at).slice(0, most)
  const chosen = new Set(first.map(({ at }) => at))
  return rows.filter((_, at) => chosen.has(at))
}
