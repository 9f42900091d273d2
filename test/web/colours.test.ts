import { describe, expect, test } from 'vitest'
import { COLOURS, colourAt, coloursAmong, SAFE_COLOURS } from '../../web/src/lib/charts/colours.ts'
import { contrastOf, differenceOf, labOf, SIGHTS } from './colour-difference.ts'

const BACKGROUND = { light: '#ffffff', dark: '#0f1218' } as const
const THEMES = ['light', 'dark'] as const
/** Ten times a just noticeable difference: two lines of a chart are easy to distinguish. */
const MIN_SAFE = 10
const MIN_OF_ALL = 6

const palette = (theme: 'light' | 'dark', many = COLOURS): string[] =>
  Array.from({ length: many }, (_, place) => colourAt(place, theme))

function closest(
  colours: readonly string[],
  sight: keyof typeof SIGHTS,
): { pair: string; difference: number } {
  let best = { pair: '', difference: Number.POSITIVE_INFINITY }
  const seen = colours.map((one) => labOf(one, SIGHTS[sight]))
  for (let i = 0; i < seen.length; i++)
    for (let k = 0; k < i; k++) {
      const difference = differenceOf(seen[i] as never, seen[k] as never)
      if (difference < best.difference) best = { pair: `${colours[k]} ${colours[i]}`, difference }
    }
  return best
}

test('the colour difference is that of the published CIEDE2000 pairs', () => {
  for (const [one, other, difference] of [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, 2.49, -0.001], [50, -2.49, 0.0009], 7.1792],
    [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
    [[22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373],
  ] as const)
    expect(differenceOf(one, other)).toBeCloseTo(difference, 3)
})

describe.each(THEMES)('in the %s theme', (theme) => {
  test.each(
    Object.keys(SIGHTS) as (keyof typeof SIGHTS)[],
  )('the first eight colours differ under %s', (sight) => {
    const { pair, difference } = closest(palette(theme, SAFE_COLOURS), sight)
    expect(difference, pair).toBeGreaterThanOrEqual(MIN_SAFE)
  })
  test('all colours differ for normal vision', () => {
    const { pair, difference } = closest(palette(theme), 'normal')
    expect(difference, pair).toBeGreaterThanOrEqual(MIN_OF_ALL)
  })
  test('every colour stands out from the background', () => {
    for (const colour of palette(theme))
      expect(contrastOf(colour, BACKGROUND[theme]), colour).toBeGreaterThanOrEqual(2.9)
  })
})

test('eight jobs of a chart have the eight safe colours, with any names', () => {
  for (const prefix of ['seed', 'lr', 'trial-', 'h128-']) {
    const names = Array.from({ length: 8 }, (_, i) => `${prefix}${i}`)
    const colourOf = coloursAmong(() => names)
    const safe = new Set(palette('light', SAFE_COLOURS))
    expect(new Set(names.map((name) => colourOf(name, 'light')))).toEqual(safe)
  }
})

test('a job that is added does not change the colours of other jobs, and sixteen jobs have sixteen colours', () => {
  let names = Array.from({ length: 8 }, (_, i) => `job-${i}`)
  const colourOf = coloursAmong(() => names)
  const before = names.map((name) => colourOf(name, 'dark'))
  names = [...names, ...Array.from({ length: 8 }, (_, i) => `late-${i}`)]
  expect(names.slice(0, 8).map((name) => colourOf(name, 'dark'))).toEqual(before)
  expect(new Set(names.map((name) => colourOf(name, 'dark'))).size).toBe(COLOURS)
})
