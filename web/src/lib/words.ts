import type { Numeric } from './api/wire-row.ts'

/**
 * Formats numbers and times without Intl: the browser's formatters take 15 ms of the first paint to initialize, and
 * toLocaleString takes 0.1 ms per call.
 */
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec']
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const two = (n: number): string => String(n).padStart(2, '0')
/** In local time; a dash for invalid times. */
const formatted =
  (format: (at: Date) => string) =>
  (at: Date | number | string): string => {
    const date = new Date(at)
    return Number.isNaN(date.getTime()) ? '–' : format(date)
  }
const month = (at: Date): string => `${at.getDate()} ${MONTHS[at.getMonth()]}`
/** `4 Mar` */
export const dayOfMonth = formatted(month)
/** `4 Mar 2026` */
const day = formatted((at) => `${month(at)} ${at.getFullYear()}`)
/** `Wed 4 Mar` */
const weekday = formatted((at) => `${DAYS[at.getDay()]} ${month(at)}`)
/** `14:20` */
export const minuteOfDay = formatted((at) => `${two(at.getHours())}:${two(at.getMinutes())}`)
/** `14:20:05` */
export const timeOfDay = formatted((at) => `${minuteOfDay(at)}:${two(at.getSeconds())}`)
/** `4 Mar 2026, 14:20:05` */
export const exact = formatted((at) => `${day(at)}, ${timeOfDay(at)}`)

const MINUS = '−'
/** Four significant digits. Values that are not numbers stay text. */
export function number(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'string') return value.replace('-Infinity', '−Inf').replace('Infinity', 'Inf')
  if (typeof value !== 'number') return JSON.stringify(value)
  if (!Number.isFinite(value)) return number(String(value))
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return count(value)
  const size = Math.abs(value)
  const text =
    size !== 0 && (size < 1e-3 || size >= 1e6)
      ? value
          .toExponential(3)
          .replace(/\.?0+e/, 'e')
          .replace('e+', 'e')
      : count(Number(value.toPrecision(4)))
  return text.replace(/-/g, MINUS)
}
/** Beyond this ratio no common number of decimals suits both the largest and the smallest value. */
const MAX_RATIO = 1_000
/** With more decimals there are more zeros than digits. */
const MAX_DECIMALS = 7
/**
 * Formats the numbers of a column with the same decimals, so that they can be compared: four digits of the median.
 * Whole numbers, small fractions, values that would be rounded to zero, and columns over several orders of magnitude
 * are formatted by `number`.
 */
export function fixedLike(values: readonly unknown[]): (value: unknown) => string {
  const sizes = values
    .filter((value): value is number => typeof value === 'number' && Number.isFinite(value) && value !== 0)
    .map(Math.abs)
    .sort((a, b) => a - b)
  const [least = 0, most = 0, median = 0] = [sizes[0], sizes.at(-1), sizes[sizes.length >> 1]]
  if (sizes.every(Number.isInteger) || most / least > MAX_RATIO || most >= 1e6) return number
  const decimals = Math.max(0, 3 - Math.floor(Math.log10(median)))
  if (decimals > MAX_DECIMALS) return number
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) >= 1e6) return number(value)
    const text = value.toFixed(decimals)
    return value !== 0 && Number(text) === 0 ? number(value) : count(text)
  }
}
export const count = (value: number | string): string =>
  String(value)
    .replace(/^(-?\d+)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','))
    .replace('-', MINUS)
export const some = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
/** `1.2 MiB`; bytes are exact. */
export function bytesText(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${number(Number((bytes / 1024 ** power).toPrecision(3)))}${NBSP}${BYTES[power]}`
}

/** Why something ended; known reasons of the service become sentences. */
export const endingText = (reason: string): string =>
  reason === 'stop_requested' ? 'Stopped as requested' : reason

/** Keeps a number and its unit on one line. */
const NBSP = '\u00a0'
/** `3 h 12 min`, `42 s`, `2 d 4 h`: the two largest units, on one line. */
export function duration(seconds: Numeric | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–'
  if (typeof seconds === 'string' || !Number.isFinite(seconds)) return number(seconds)
  if (seconds > 0 && seconds < 10) return `${Number(seconds.toFixed(1))}${NBSP}s`
  const whole = Math.round(seconds)
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const
  const first = parts.findIndex(([n]) => n > 0)
  if (first < 0) return `0${NBSP}s`
  return parts
    .slice(first, first + 2)
    .filter(([n], i) => i === 0 || n > 0)
    .map(([n, unit]) => `${n}${NBSP}${unit}`)
    .join(NBSP)
}

export function ago(iso: string, now: number = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000)
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${Math.round(seconds / 60)}${NBSP}min${NBSP}ago`
  if (seconds < 86_400) return `${Math.round(seconds / 3600)}${NBSP}h${NBSP}ago`
  if (seconds < 30 * 86_400) return `${Math.round(seconds / 86_400)}${NBSP}d${NBSP}ago`
  return day(iso)
}
export const clock = (ms: number, dated = isFar(ms)): string =>
  dated ? `${weekday(ms)} ${minuteOfDay(ms)}` : minuteOfDay(ms)
const isFar = (ms: number): boolean => Math.abs(ms - Date.now()) > 20 * 3_600_000

/**
 * `≈ 14:20 (13:50–15:10)`; `≈ 14:20` if the range is within that minute; `any moment` once it has passed.
 * @param at when it was estimated, in ms
 */
export function etaText(
  eta: { eta_s: number | null; low_s?: number | null; high_s?: number | null },
  at: number,
): string {
  if (eta.eta_s === null) return ''
  const end = at + eta.eta_s * 1000
  if (end < Date.now() - 60_000) return 'any moment'
  // A day with one of the times would be read as that of the others.
  const dated = [eta.eta_s, eta.high_s].some((s) => s != null && isFar(at + s * 1000))
  const [low, high] = [eta.low_s, eta.high_s].map((s) => (s == null ? null : clock(at + s * 1000, dated)))
  const range = low != null && high != null && low !== high ? ` (${low}–${high})` : ''
  return `≈ ${clock(end, dated)}${range}`
}
