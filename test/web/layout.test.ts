import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  arranged,
  type ChartLayout,
  MEDIA,
  mediaName,
  readLayout,
  sizeOf,
  withChart,
  withHidden,
  withNewSection,
  withoutMedia,
  withoutSection,
  withSection,
  withSize,
  withTitle,
} from '../../web/src/lib/charts/layout.ts'

// How charts are arranged in sections, and what of it is in the address.

const KEYS = ['val/loss', 'train/loss', 'val/acc', 'train/acc', 'epoch_s', 'opt/lr']
const NONE = new Set<string>()
const shown = (layout: ChartLayout | undefined, pinned: ReadonlySet<string> = NONE, keys = KEYS) =>
  arranged(keys, pinned, layout)
const ids = (layout: ChartLayout | undefined) => shown(layout).map(({ id }) => id)
const keysOf = (layout: ChartLayout | undefined, id: string) =>
  shown(layout).find((one) => one.id === id)?.keys

test('series are in sections by the part before their first slash; pinned ones come first', () => {
  expect(shown(undefined, new Set(['opt/lr'])).map(({ id, keys }) => [id, ...keys])).toEqual([
    ['Pinned', 'opt/lr'],
    ['val', 'val/loss', 'val/acc'],
    ['train', 'train/loss', 'train/acc'],
    ['Charts', 'epoch_s'],
  ])
})

test('a chart moves within its section and into another one; new series come after what was moved', () => {
  const within = withChart(undefined, shown(undefined), 'val/acc', { section: 'val', at: 0 })
  expect(within).toEqual({ charts: { val: ['val/acc'] } })
  expect(keysOf(within, 'val')).toEqual(['val/acc', 'val/loss'])
  const across = withChart(within, shown(within), 'val/acc', { section: 'train', at: 1 })
  expect(across).toEqual({ charts: { train: ['train/loss', 'val/acc'] } })
  expect(keysOf(across, 'val')).toEqual(['val/loss'])
  const more = shown(across, NONE, [...KEYS, 'train/f1']).find(({ id }) => id === 'train')
  expect(more?.keys).toEqual(['train/loss', 'val/acc', 'train/acc', 'train/f1'])
})

test('sections keep their order when series arrive; others follow in their usual order', () => {
  const moved = withSection(undefined, shown(undefined), 'opt', -3)
  expect(ids(moved)).toEqual(['opt', 'val', 'train', 'Charts'])
  expect(shown(moved, NONE, ['aa/loss', ...KEYS]).map(({ id }) => id)).toEqual([
    'opt',
    'val',
    'train',
    'Charts',
    'aa',
  ])
  expect(withSection(moved, shown(moved), 'opt', -1)).toBe(moved)
})

test('a section is added, renamed and removed; its charts return to their own sections', () => {
  const made = withNewSection(undefined, shown(undefined), '  Paper figures ')
  expect(shown(made).at(-1)).toEqual({ id: 'Paper figures', title: 'Paper figures', keys: [], isMade: true })
  expect(withNewSection(made, shown(made), 'Paper figures')).toBe(made)
  const filled = withChart(made, shown(made), 'opt/lr', { section: 'Paper figures', at: 0 })
  expect(ids(filled)).toEqual(['val', 'train', 'Charts', 'Paper figures'])
  const named = withTitle(filled, 'Paper figures', 'Figures')
  expect(shown(named).at(-1)).toMatchObject({ id: 'Paper figures', title: 'Figures', keys: ['opt/lr'] })
  expect(keysOf(withoutSection(named, 'Paper figures'), 'opt')).toEqual(['opt/lr'])
  expect(withTitle(withTitle(undefined, 'val', 'Validation'), 'val', 'val')).toBeUndefined()
})

test('hidden charts are left out, sizes are bounded, and nothing arranged is nothing in the address', () => {
  const hidden = withHidden(undefined, 'epoch_s', true)
  expect(ids(hidden)).toEqual(['val', 'train', 'opt'])
  expect(withHidden(hidden, 'epoch_s', false)).toBeUndefined()
  const wide = withSize(undefined, 'val/loss', { wide: 9, high: 2 })
  expect(wide).toEqual({ sizes: { 'val/loss': [3, 2] } })
  expect(withSize(wide, 'val/loss', { wide: 1, high: 1 })).toBeUndefined()
})

test('media have an order, sizes and hidden cards of their own beside those of charts', () => {
  const media = ['a', 'train/b', 'c'].map(mediaName)
  const [a, b] = media as [string, string]
  const order = (layout: ChartLayout | undefined) => arranged(media, NONE, layout).flatMap(({ keys }) => keys)
  const wide = { wide: 3, high: 1 }
  const moved = withChart(undefined, arranged(media, NONE, undefined), b, { section: MEDIA, at: 0 })
  expect(order(moved)).toEqual([b, a, mediaName('c')])
  const small = withSize(withHidden(moved, a, true), b, { wide: 1, high: 1 }, wide)
  expect(sizeOf(small, b, wide)).toEqual({ wide: 1, high: 1 })
  expect(sizeOf(readLayout(JSON.parse(JSON.stringify(small))), b, wide)).toEqual({ wide: 1, high: 1 })
  expect(withSize(small, b, wide, wide)).not.toHaveProperty('sizes')
  const both = withHidden(small, 'epoch_s', true)
  expect([order(both), ids(both)]).toEqual([
    [b, mediaName('c')],
    ['val', 'train', 'opt'],
  ])
  expect(withoutMedia(both)).toEqual({ hidden: ['epoch_s'] })
})

test('any address is read as a layout that shows every series once, apart from hidden ones', () => {
  expect(readLayout('x')).toBeUndefined()
  expect(readLayout({ sections: [], charts: { a: 1 }, sizes: { a: ['x', -1] } })).toBeUndefined()
  fc.assert(
    fc.property(
      fc.record(
        {
          sections: fc.oneof(fc.array(fc.constantFrom('val', 'Mine', 'Pinned', 'Charts')), fc.jsonValue()),
          charts: fc.oneof(
            fc.dictionary(fc.constantFrom('val', 'Mine', '__proto__'), fc.array(fc.constantFrom(...KEYS))),
            fc.jsonValue(),
          ),
          titles: fc.jsonValue(),
          hidden: fc.oneof(fc.array(fc.constantFrom(...KEYS)), fc.jsonValue()),
          sizes: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
      (given) => {
        const layout = readLayout(given)
        expect(readLayout(JSON.parse(JSON.stringify(layout ?? null)))).toEqual(layout)
        const drawn = shown(layout, new Set(['opt/lr'])).flatMap(({ keys }) => keys)
        const hidden = new Set(layout?.hidden)
        expect([...drawn].sort()).toEqual(KEYS.filter((key) => !hidden.has(key)).sort())
      },
    ),
  )
})
