import { count } from '../lib/words.ts'

const MINUS = '−'
/** More decimals are hard to read on an axis. */
const MAX_DECIMALS = 5

/** Labels of an axis. If one number needs an exponent, all get one. */
export function tickTexts(
  values: readonly (number | null)[],
  options: { log: boolean; most: number },
): string[] {
  const finite = values.filter((value): value is number => value !== null && Number.isFinite(value))
  const { log, most } = options
  const decimals = Math.max(0, ...finite.map(decimalsOf))
  const plain = decimals <= MAX_DECIMALS && finite.every((value) => Math.abs(value) < most)
  const texts = plain
    ? (value: number): string => count(log ? String(value) : value.toFixed(decimals))
    : (value: number): string => (value === 0 ? '0' : exponential(value))
  return values.map((value) => (value === null ? '' : texts(clean(value))))
}

/** Ticks are sums of increments, with rounding errors. */
const clean = (value: number): number => Number(value.toPrecision(10))

function decimalsOf(value: number): number {
  const [digits = '', exponent = '0'] = clean(value).toExponential().split('e')
  return Math.max(0, (digits.split('.')[1]?.length ?? 0) - Number(exponent))
}

const exponential = (value: number): string => value.toExponential().replace('e+', 'e').replaceAll('-', MINUS)
