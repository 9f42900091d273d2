import type { Definition, Parameter } from '../lib/api/sweeps.ts'

/** How far a new space reaches around the best value, as a share of the range that it had. */
const REACH = 0.15

/**
 * A space around the best trial: ranges end at 15% of their length from its value, choices keep its value and the ones
 * beside it.
 */
export function spaceAround(
  space: Definition['parameters'],
  best: Record<string, unknown>,
): Definition['parameters'] {
  const entries = Object.entries(space).map(([name, parameter]): [string, Parameter] => {
    const value = best[name]
    if (value === undefined) return [name, parameter]
    if ('values' in parameter) {
      const at = parameter.values.findIndex((one) => JSON.stringify(one) === JSON.stringify(value))
      const isNumeric = parameter.values.every((one) => typeof one === 'number')
      const near = isNumeric ? parameter.values.slice(Math.max(0, at - 1), at + 2) : [value]
      return [name, { ...parameter, values: at < 0 ? parameter.values : near }]
    }
    if (!('min' in parameter) || typeof value !== 'number') return [name, parameter]
    return [name, { ...parameter, ...rangeAround(parameter, value) }]
  })
  // A condition keeps only values that are left.
  return Object.fromEntries(
    entries.flatMap(([name, parameter]) => {
      const when = Object.entries(parameter.when ?? {}).map(([on, values]) => [
        on,
        (values as unknown[]).filter((one) => best[on] === undefined || isLeft(entries, on, one)),
      ])
      if (when.some(([, values]) => (values as unknown[]).length === 0)) return []
      return [[name, { ...parameter, ...(when.length > 0 && { when: Object.fromEntries(when) }) }]]
    }),
  )
}

function isLeft(entries: [string, Parameter][], name: string, value: unknown): boolean {
  const parameter = entries.find(([one]) => one === name)?.[1]
  if (parameter === undefined || !('values' in parameter)) return true
  return parameter.values.some((one) => JSON.stringify(one) === JSON.stringify(value))
}

function rangeAround(
  { min, max, distribution, q }: { min: number; max: number; distribution?: string; q?: number },
  value: number,
): { min: number; max: number } {
  const whole = [min, max, q ?? 1].every(Number.isInteger) && distribution?.startsWith('int') !== false
  if (distribution?.includes('log') === true) {
    const reach = (max / min) ** REACH
    const [low, high] = [Math.max(min, value / reach), Math.min(max, value * reach)]
    return whole
      ? { min: Math.floor(low), max: Math.ceil(high) }
      : { min: Number(low.toPrecision(3)), max: Number(high.toPrecision(3)) }
  }
  const step = q ?? (whole ? 1 : undefined)
  const reach =
    step === undefined ? (max - min) * REACH : Math.max(step, Math.round(((max - min) * REACH) / step) * step)
  const [low, high] = [Math.max(min, value - reach), Math.min(max, value + reach)]
  return { min: Number(low.toPrecision(6)), max: Number(high.toPrecision(6)) }
}
