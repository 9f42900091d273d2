/** Charts that users make of columns of jobs. They are a part of the address, so that links and views keep them. */

export const CUSTOM_KINDS = ['bar', 'box', 'scatter', 'histogram', 'heat'] as const
export type CustomKind = (typeof CUSTOM_KINDS)[number]

/** Ids of columns, such as `param.lr` and `best.val_loss`. */
export interface CustomChart {
  kind: CustomKind
  /** What a bar or box is for, the x-axis, the column of a histogram. */
  x: string
  /** The y-axis, or the second parameter of a heat map. */
  y?: string
  /** The metric that bars and boxes show, or that colours a heat map. */
  of?: string
}
export const MAX_CUSTOM = 12

/** Reads charts of an address; ignores what is none. */
export function readCustomCharts(given: unknown): CustomChart[] | undefined {
  if (!Array.isArray(given)) return undefined
  const found = given.slice(0, MAX_CUSTOM).flatMap((one): CustomChart[] => {
    if (typeof one !== 'object' || one === null) return []
    const { kind, x, y, of } = one as Record<string, unknown>
    const known = CUSTOM_KINDS.find((name) => name === kind)
    if (known === undefined || typeof x !== 'string') return []
    return [
      {
        kind: known,
        x: x.slice(0, 200),
        ...(typeof y === 'string' && { y: y.slice(0, 200) }),
        ...(typeof of === 'string' && { of: of.slice(0, 200) }),
      },
    ]
  })
  return found.length > 0 ? found : undefined
}
