import { describe, expect, test } from 'vitest'
import { COLOURS, colourAt, coloursAmong, coloursOfRuns } from '../../web/src/lib/charts/colours.ts'
import { contrastOf, differenceOf, labOf, SIGHTS } from './colour-difference.ts'

const BACKGROUND = { light: '#ffffff', dark: '#0f1218' } as const
const THEMES = ['light', 'dark'] as const
/** Ten times a just noticeable difference: two lines of a chart are easy to distinguish. */
const MIN_SAFE = 9
const TOGETHER = 8
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
  )('any eight colours that follow each other differ under %s', (sight) => {
    const all = palette(theme)
    for (let from = 0; from < COLOURS; from++) {
      const { pair, difference } = closest([...all, ...all].slice(from, from + TOGETHER), sight)
      expect(difference, pair).toBeGreaterThanOrEqual(MIN_SAFE)
    }
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

describe('the colour of a run', () => {
  const keys = (from: number, n: number) =>
    new Map(Array.from({ length: n }, (_, i) => [`job-${i}`, `${from + i}`]))
  const runs = (known: ReadonlyMap<string, string>, names = [...known.keys()]) =>
    coloursOfRuns(
      () => names,
      (name) => known.get(name),
    )

  test('is that of its key on every page', () => {
    const known = keys(9_007_199_254_740_990, 30)
    const whole = runs(known)
    const alone = runs(known, ['job-17'])
    for (const theme of THEMES) expect(alone('job-17', theme)).toBe(whole('job-17', theme))
  })
  test('differs between twenty runs that started one after the other; then come dashes', () => {
    const known = keys(37, 60)
    const colourOf = runs(known)
    const looks = [...known.keys()].map((name) => `${colourOf(name, 'light')} ${colourOf.dashOf?.(name)}`)
    expect(new Set(looks).size).toBe(60)
    expect(new Set(looks.slice(0, 20).map((look) => look.split(' ')[0])).size).toBe(20)
    expect(looks.slice(0, 20).every((look) => look.endsWith(' '))).toBe(true)
    expect(looks.slice(20).some((look) => look.endsWith(' '))).toBe(false)
  })
})

test('twenty groups have twenty colours', () => {
  const names = Array.from({ length: 20 }, (_, i) => `lr = ${i}`)
  const colourOf = coloursAmong(names)
  expect(new Set(names.map((name) => colourOf(name, 'dark'))).size).toBe(COLOURS)
})
