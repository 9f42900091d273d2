import type { Theme } from '../lib/theme.ts'

/**
 * The viridis colour map (van der Walt and Smith, 2015) at tenths: equal steps of the value have equal steps of
 * lightness, also with colour blindness.
 */
const STOPS = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 73, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [110, 206, 88],
  [181, 222, 43],
  [253, 231, 37],
] as const
/** The part with enough contrast: its lightest yellow is lost on white, its darkest violet on black. */
const PART: Record<Theme, [number, number]> = { light: [0, 0.93], dark: [0.2, 1] }

/** The colour at a position from 0 to 1. */
export function viridis(share: number, theme: Theme): string {
  const [from, to] = PART[theme]
  const at = (from + (to - from) * Math.max(0, Math.min(1, share))) * (STOPS.length - 1)
  const low = STOPS[Math.floor(at)] ?? STOPS[0]
  const high = STOPS[Math.ceil(at)] ?? low
  const [r, g, b] = low.map((one, i) => Math.round(one + ((high[i] ?? one) - one) * (at % 1)))
  return `rgb(${r}, ${g}, ${b})`
}
