/** Numbers as decimal digits: without the rounding errors of a quotient, which subnormal numbers make large. */

/** The exponent of the last digit of a number. */
export function exponentOf(value: number): number {
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  return value === 0 ? 0 : Number(exponent) - (digits.split('.')[1]?.length ?? 0)
}

/** A number as a multiple of a power of ten that its last digit has or exceeds. */
export function digitsOf(value: number, exponent: number): bigint {
  if (value === 0) return 0n
  const digits = value.toExponential().split('e')[0]?.replace('.', '') ?? '0'
  return BigInt(digits) * 10n ** BigInt(exponentOf(value) - exponent)
}

/** The largest multiple of `factor * 10 ** exponent` that is not above the number, as the number of times. */
export function multipleBelow(value: number, factor: number, exponent: number): number {
  const last = Math.min(exponent, exponentOf(value))
  return Number(floorOf(digitsOf(value, last), BigInt(factor) * 10n ** BigInt(exponent - last)))
}

export const floorOf = (value: bigint, by: bigint): bigint =>
  value / by - (value % by !== 0n && value < 0n ? 1n : 0n)
