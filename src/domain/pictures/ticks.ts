/** Steps of an axis: round numbers, at most `most` of them from `low` to `high`. */
export function ticksOf(low: number, high: number, most: number): number[] {
  const span = high - low
  const magnitude = 10 ** Math.floor(Math.log10(span / most))
  const step = [1, 2, 5, 10].map((one) => one * magnitude).find((one) => span / one <= most) ?? 10 * magnitude
  // A step that the range's numbers cannot express would never end.
  if (!(step > 0) || low + step === low) return [low]
  const first = Math.ceil(low / step)
  const found: number[] = []
  for (let i = first; i * step <= high && found.length <= most; i++) found.push(i * step)
  return found
}

/** A range that holds these values with a margin, and can have ticks. */
export function rangeOf(least: number, greatest: number): [number, number] {
  const span = greatest - least
  // A constant, also one with the noise of floats, is drawn in the middle.
  if (!(span > Math.max(Math.abs(least), Math.abs(greatest)) * 2 ** -40)) {
    const margin = Math.max(Math.abs(least) * 0.1, Number.MIN_VALUE * 2 ** 60, least === 0 ? 1 : 0)
    return [least - margin, greatest + margin]
  }
  return [least - span * 0.05, greatest + span * 0.05]
}

/** `0.001`, `1,200`, `1e-7`: four significant digits. */
export function numberText(value: number): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6 || size < 1e-4)
    return value
      .toExponential(2)
      .replace(/\.?0+e/, 'e')
      .replace('e+', 'e')
  return Number(value.toPrecision(4)).toLocaleString('en', { maximumFractionDigits: 12 })
}
