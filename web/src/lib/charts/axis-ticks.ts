import { niceStep, type Range } from './axis-range.ts'
import { multipleBelow } from './decimal.ts'

export const MAX_TICKS = 30

/** With fewer, a step may be wider than the range. */
export const MIN_TICKS = 4

const capped = (most: number): number => Math.max(MIN_TICKS, Math.min(MAX_TICKS - 1, Math.floor(most)))

/**
 * Multiples of 1, 2 or 5 times a power of ten. Each is read from its decimal digits, so that no rounding error adds up.
 * @param range as `drawable` returns it
 */
export function numberTicks([low, high]: Range, most: number, whole = false): number[] {
  const { factor, exponent } = niceStep((high - low) / capped(most), whole)
  const first = multipleBelow(low, factor, exponent)
  return multiples([low, high], first, (n) => Number(`${n * factor}e${exponent}`))
}

function multiples([low, high]: Range, first: number, at: (n: number) => number): number[] {
  const ticks: number[] = []
  // One step more at either end, because the quotient may be rounded.
  for (let i = 0; i <= MAX_TICKS + 1; i++) {
    const tick = at(first + i)
    if (tick >= low && tick <= high && tick !== ticks.at(-1)) ticks.push(tick === 0 ? 0 : tick)
  }
  return ticks.slice(0, MAX_TICKS)
}

/** Powers of ten; with space 1, 2 and 5 of each; numbers if the range is less than a decade. */
export function logTicks([low, high]: Range, most: number): number[] {
  const decades = Math.log10(high) - Math.log10(low)
  const count = capped(most)
  if (decades < 1) return numberTicks([low, high], count)
  const digits = decades * 3 <= count ? [1, 2, 5] : [1]
  const every = Math.max(1, Math.ceil(decades / count))
  const ticks: number[] = []
  const first = Math.floor(Math.log10(low) / every) * every
  for (let exponent = first; exponent <= Math.log10(high) + 1; exponent += every)
    for (const digit of digits) {
      const tick = Number(`${digit}e${exponent}`)
      if (tick > 0 && tick >= low && tick <= high) ticks.push(tick)
    }
  return ticks.length > 1 ? ticks.slice(0, MAX_TICKS) : numberTicks([low, high], count)
}

const DAY = 86_400
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200]

/** Seconds since a start: multiples of seconds, minutes, hours and days that are read easily. */
export function durationTicks(range: Range, most: number): number[] {
  const least = (range[1] - range[0]) / capped(most)
  if (least <= 0.5) return numberTicks(range, most)
  const step = SECONDS.find((one) => one >= least) ?? niceStep(least / DAY, true).size * DAY
  return multiples(range, Math.floor(range[0] / step), (n) => n * step)
}

/** Seconds of the dates that JavaScript has. */
const MAX_DATE = 8.64e12

/** Unix seconds: round times of the local day, days, months or years. */
export function timeTicks([low, high]: Range, most: number): { places: number[]; step: number } {
  const least = (high - low) / capped(most)
  if (low < -MAX_DATE || high > MAX_DATE) return { places: numberTicks([low, high], most), step: 0 }
  if (least <= 0.5) return { places: numberTicks([low, high], most), step: niceStep(least).size }
  const from = new Date(low * 1000)
  const [year, month, day, hour] = [from.getFullYear(), from.getMonth(), from.getDate(), from.getHours()]
  const list = (step: number, at: (n: number) => Date): { places: number[]; step: number } => ({
    step,
    places: Array.from({ length: MAX_TICKS + 24 }, (_, n) => at(n).getTime() / 1000)
      .filter((place, n, all) => place >= low && place <= high && place !== all[n - 1])
      .slice(0, MAX_TICKS),
  })
  const seconds = SECONDS.find((one) => one >= least)
  if (seconds !== undefined && seconds < 3600) {
    // Zones differ from UTC by whole quarters of an hour.
    const start = Math.floor(low / seconds) * seconds
    return list(seconds, (n) => new Date((start + n * seconds) * 1000))
  }
  if (seconds !== undefined) {
    const hours = seconds / 3600
    return list(seconds, (n) => new Date(year, month, day, Math.floor(hour / hours) * hours + n * hours))
  }
  const days = [1, 2, 5, 10].find((one) => one * DAY >= least)
  if (days !== undefined) return list(days * DAY, (n) => new Date(year, month, day + n * days))
  const months = [1, 2, 3, 6].find((one) => one * 28 * DAY >= least)
  if (months !== undefined)
    return list(months * 28 * DAY, (n) => new Date(year, Math.floor(month / months) * months + n * months, 1))
  const years = niceStep(least / (365 * DAY), true).size
  return list(years * 365 * DAY, (n) => {
    const at = new Date(2000, 0, 1)
    at.setFullYear(Math.floor(year / years) * years + n * years)
    return at
  })
}
