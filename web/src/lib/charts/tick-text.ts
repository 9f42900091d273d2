import { count, dayOfMonth, duration, exact, minuteOfDay, timeOfDay } from '../words.ts'
import { digitsOf, exponentOf, floorOf } from './decimal.ts'

/** Labels of ticks, all different. With an offset they are distances from it. */
export interface TickTexts {
  texts: string[]
  offset: string | null
}

const MINUS = '−'
/** More decimals are hard to read on an axis. */
const MAX_DECIMALS = 5
/** Longer labels are written as distances from an offset. */
const MAX_LENGTH = 10
const MAX_DISTANCE = 1e5

/** Labels of numbers. If one number needs an exponent, all get one. */
export function tickTexts(values: readonly number[], options: { log: boolean; most: number }): TickTexts {
  const { log, most } = options
  const decimals = Math.max(0, ...values.map((value) => -exponentOf(value)))
  const isPlain = decimals <= MAX_DECIMALS && values.every((value) => Math.abs(value) < most)
  const texts = values.map((value) =>
    isPlain ? count(log ? String(value) : value.toFixed(decimals)) : exponential(value),
  )
  return texts.every((text) => text.length <= MAX_LENGTH) ? { texts, offset: null } : distances(values)
}

/** Labels as distances from the roundest number between the first and the last tick. */
function distances(values: readonly number[]): TickTexts {
  const exponent = Math.min(...values.map(exponentOf))
  const digits = values.map((value) => digitsOf(value, exponent))
  const [first = 0n, last = 0n] = [digits[0], digits.at(-1)]
  let place = 1n
  while (floored(last, place * 10n) >= first && place < 10n ** 20n) place *= 10n
  const offset = floored(last, place)
  const texts = digits.map((one) => {
    const distance = one - offset
    const sign = distance > 0n ? '+' : ''
    const value = Number(`${distance}e${exponent}`)
    const isPlain = exponent >= -3 && Math.abs(value) < MAX_DISTANCE
    return sign + (isPlain ? count(value.toFixed(Math.max(0, -exponent))) : exponential(value))
  })
  return { texts, offset: whole(Number(`${offset}e${exponent}`)) }
}

const floored = (value: bigint, place: bigint): bigint => floorOf(value, place) * place

const whole = (value: number): string =>
  Number.isInteger(value) && Math.abs(value) < 1e16 ? count(value) : exponential(value)

const exponential = (value: number): string =>
  value === 0 ? '0' : value.toExponential().replace('e+', 'e').replaceAll('-', MINUS)

/** Labels of seconds since a start. */
export function durationTexts(values: readonly number[]): TickTexts {
  const texts = values.map((at) => (at < 0 ? `${MINUS}${duration(-at)}` : at === 0 ? '0' : duration(at)))
  return areDifferent(texts) ? { texts, offset: null } : tickTexts(values, { log: false, most: 1e7 })
}

const milliseconds = (seconds: number): string =>
  `${timeOfDay(seconds * 1000)}.${String(Math.floor((((seconds * 1000) % 1000) + 1000) % 1000)).padStart(3, '0')}`
const monthOf = (ms: number): string => `${dayOfMonth(ms).split(' ')[1]} ${new Date(ms).getFullYear()}`
const DAY = 86_400

/** Labels of Unix seconds: as short as they can be and still differ. */
export function timeTexts(values: readonly number[], step: number): TickTexts {
  const inMs = (text: (ms: number) => string) => (at: number) => text(at * 1000)
  const isMidnight = (at: number): boolean => minuteOfDay(at * 1000) === '00:00'
  const day = inMs(dayOfMonth)
  const dated = inMs((ms) => `${dayOfMonth(ms)} ${minuteOfDay(ms)}`)
  const formats: readonly ((at: number) => string)[] =
    step >= 365 * DAY
      ? [inMs((ms) => String(new Date(ms).getFullYear()))]
      : step >= 28 * DAY
        ? [inMs(monthOf)]
        : step >= DAY
          ? [day, (at) => `${day(at)} ${new Date(at * 1000).getFullYear()}`]
          : step >= 60
            ? [(at) => (isMidnight(at) ? day(at) : inMs(minuteOfDay)(at)), dated]
            : step >= 1
              ? [inMs(timeOfDay)]
              : step > 0
                ? [milliseconds]
                : []
  for (const format of [...formats, inMs(exact)]) {
    const texts = values.map(format)
    if (areDifferent(texts)) return { texts, offset: null }
  }
  return tickTexts(values, { log: false, most: 1e7 })
}

const areDifferent = (texts: readonly string[]): boolean => new Set(texts).size === texts.length
