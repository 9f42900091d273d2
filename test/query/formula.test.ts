import fc from 'fast-check'
import { expect, test } from 'vitest'
import { computed, splitKeys } from '../../src/domain/metrics/formula-series.ts'
import { formulaValue, parseColumnFormula, parseFormula } from '../../src/query/index.ts'

// Formulas: `=val_loss - train_loss`.

const VALUES: Record<string, number> = { a: 2, b: 3, 'val/loss': 8, 'avg score': 5 }
const value = (text: string): number | undefined => {
  const { formula, fault } = parseFormula(text)
  if (formula === null) throw new Error(fault.message)
  return formulaValue(formula, (name) => VALUES[name])
}
const message = (text: string) => parseFormula(text).fault?.message

test.each([
  ['=a + b * 2', 8],
  ['(a + b) * 2', 10],
  ['-a^2 + 1', -3],
  ['2^3^a', 512],
  ['a^-1', 0.5],
  ['val/loss - a', 6],
  ['val/loss / a/2', 2],
  ['"avg score" - -a', 7],
  ['max(a, b, 1e-3) - min(a, .5)', 2.5],
  ['clip(val/loss, 0, 4)', 4],
  ['sqrt(abs(-val/loss * a))', 4],
  ['a / 0', Number.POSITIVE_INFINITY],
  ['nothing + 1', undefined],
])('%s is %s', (text, expected) => {
  expect(value(text)).toBe(expected)
})

test.each([
  ['', 'A name or number is missing at the end'],
  ['=1 + 2', 'A formula needs a name, such as val_loss'],
  ['a +', 'A name or number is missing at the end'],
  ['(a', 'This bracket is not closed'],
  ['a b', 'An operator is missing before this'],
  ['"a', 'This quote is not closed'],
  ['a; b', '; is not part of a formula'],
  ['eval(a)', /^eval is not a function: abs, /],
  ['ema(a)', 'ema has 2 arguments'],
  ['ema(a, 1)', 'ema: the second argument is a number, 0 to below 1'],
  ['mean(a, b)', /^mean: the second argument is a whole number/],
  ['a + 1e999', '1e999 is too large'],
  ['a'.repeat(600), 'A formula has at most 512 characters'],
  [`${'('.repeat(25)}a${')'.repeat(25)}`, 'Brackets are nested at most 20 deep'],
  ['a + b + c + d + e + f + g + h + i', 'A formula has at most 8 different names'],
  [Array.from({ length: 40 }, () => 'a').join('+'), /at most 64 names/],
  ['constructor(a)', /^constructor is not a function/],
])('%s is refused', (text, expected) => {
  expect(message(text)).toMatch(expected)
})

test('a column refuses functions of series, and says where', () => {
  expect(parseColumnFormula('=1 + ema(loss, 0.9)').fault).toMatchObject({
    message: 'ema needs the points of a series, so it works in charts but not in columns',
    from: 5,
  })
  expect(parseColumnFormula('=best.loss * 2').fault).toBeNull()
})

test('any text is parsed or refused at a place within it, and never throws', () => {
  const part = fc.constantFrom(
    'a',
    'b/c',
    '(',
    ')',
    ',',
    '+',
    '-',
    '*',
    '^',
    'ema(',
    '0.5',
    '"q"',
    '"',
    ' ',
    '=',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(part).map((parts) => parts.join('')),
      ),
      (text) => {
        const { formula, fault } = parseFormula(text)
        if (formula !== null) return
        expect(fault.from).toBeGreaterThanOrEqual(0)
        expect(fault.to).toBeLessThanOrEqual(Math.max(text.length, fault.from + 1))
      },
    ),
  )
})

type Points = Record<number, number>
async function seriesOf(text: string, stored: Record<string, Points>): Promise<[number, number][]> {
  const series = Object.entries(stored).map(([key, points]) => ({
    jobKey: 1,
    jobId: 'main',
    key,
    startedAt: 0,
    group: null,
    steps: Float64Array.from(Object.keys(points), Number).sort(),
    values: Float64Array.from(
      Object.entries(points).sort(([a], [b]) => Number(a) - Number(b)),
      ([, v]) => v,
    ),
  }))
  for await (const { steps, values } of computed(series, splitKeys([text]).formulas))
    return Array.from(steps, (step, i) => [step, values[i] ?? Number.NaN])
  return []
}

test('series are joined by step; a job without one of them has no curve', async () => {
  const stored = { val: { 0: 5, 2: 4, 4: 3 }, train: { 0: 4, 1: 3, 2: 2, 3: 1 } }
  expect(await seriesOf('=val - train', stored)).toEqual([
    [0, 1],
    [2, 2],
  ])
  expect(await seriesOf('=val * 2', stored)).toEqual([
    [0, 10],
    [2, 8],
    [4, 6],
  ])
  expect(await seriesOf('=val - test', stored)).toEqual([])
})

test.each([
  ['=ema(x, 0)', [4, 2, Number.NaN, 6, 1]],
  ['=mean(x, 2)', [4, 3, 2, 6, 3.5]],
  ['=diff(x)', [Number.NaN, -2, Number.NaN, 4, -5]],
  ['=cumsum(x)', [4, 6, 6, 12, 13]],
  ['=cummin(x)', [4, 2, 2, 2, 1]],
  ['=cummax(x) - x', [0, 2, Number.NaN, 0, 5]],
  ['=cummax(mean(x, 1) ^ 2)', [16, 16, 16, 36, 36]],
])('%s skips values that are not finite', async (text, expected) => {
  const stored = { x: { 0: 4, 1: 2, 2: Number.NaN, 3: 6, 4: 1 } }
  expect((await seriesOf(text, stored)).map(([, at]) => at)).toEqual(expected)
})

test('a rolling mean is exact after a large value has left its window', async () => {
  const stored = { x: Object.fromEntries([1e16, 1, 1, 1, 1].map((v, i) => [i, v])) }
  expect((await seriesOf('=mean(x, 2)', stored)).slice(2)).toEqual([
    [2, 1],
    [3, 1],
    [4, 1],
  ])
})
