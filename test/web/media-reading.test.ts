import { expect, test } from 'vitest'
import { foldersOf, treeOf } from '../../web/src/files/tree.ts'
import type { HistogramMedia, MediaKey, StoredMedia } from '../../web/src/lib/api/media.ts'
import { heatMapOf, quantile, rangeOfJobs } from '../../web/src/media/heat-map.ts'
import { lastStepOf } from '../../web/src/media/last-step.ts'
import { layerNames, layersOf } from '../../web/src/media/layers.ts'
import { readPlot } from '../../web/src/media/plot-data.ts'
import { tableDifference } from '../../web/src/media/table-difference.ts'
import { cellFilter, fromCsv, readTable, rowsOf } from '../../web/src/media/table-rows.ts'
import { zoomedAt } from '../../web/src/media/zoom.ts'
import { histogram } from './media-samples.ts'

const image = (more: object): StoredMedia => ({
  _type: 'image',
  sha256: 'a'.repeat(64),
  size: 1,
  media_type: 'image/png',
  uploaded: true,
  url: '/api/x',
  width: 100,
  height: 50,
  ...more,
})
const bytes = (value: unknown): ArrayBuffer =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)).buffer as ArrayBuffer

test('boxes in pixels, in fractions and as W&B writes them are at the same place', () => {
  const place = { x: 0.1, y: 0.2, width: 0.5, height: 0.4 }
  const of = (boxes: unknown) => layersOf(image({ boxes })).boxes
  const pixels = { x: 10, y: 10, width: 50, height: 20 }
  expect(of([{ ...pixels, label: 'cat', score: 0.5 }])).toEqual([
    { layer: 'boxes', ...place, label: 'cat 0.50' },
  ])
  expect(of({ truth: [place] })).toEqual([{ layer: 'truth', ...place, label: '' }])
  const wandb = (position: object, more = {}) => ({
    found: { box_data: [{ position, class_id: 1, ...more }], class_labels: { 1: 'dog' } },
  })
  expect(of(wandb({ minX: 10, maxX: 60, minY: 10, maxY: 30 }, { domain: 'pixel' }))[0]).toMatchObject({
    layer: 'found',
    label: 'dog',
    x: 0.1,
    width: 0.5,
  })
  expect(of(wandb({ middle: [0.35, 0.4], width: 0.5, height: 0.4 }))[0]?.y).toBeCloseTo(0.2)
  for (const odd of [null, 7, 'x', [null, 3, { x: 'a' }, { x: 1 }], { a: { box_data: 4 } }])
    expect(of(odd)).toEqual([])
})

test('a mask of another site is not loaded', () => {
  const masks = { a: { sha256: 'x', url: '/api/y' }, b: { sha256: 'x', url: 'https://example.org/z' }, c: 1 }
  const found = image({ masks })
  expect(layersOf(found).masks.map(({ url }) => url)).toEqual(['/api/y', null])
  expect(layerNames([found])).toEqual(['a', 'b'])
})

test('CSV with quotes, line breaks, semicolons and an unfinished quote is read', () => {
  expect(fromCsv('a,b\r\n1,"x, ""y""\nz"\r\n,2.5\n')).toEqual({
    columns: ['a', 'b'],
    rows: [
      [1, 'x, "y"\nz'],
      ['', 2.5],
    ],
  })
  expect(fromCsv('a;b\n1;2').rows).toEqual([[1, 2]])
  expect(fromCsv('a,b\n1,"open').rows).toEqual([[1, '"open']])
  expect(fromCsv('')).toEqual({ columns: [], rows: [] })
  expect(() => readTable(bytes({ columns: 3 }))).toThrow('not a table')
})

test('rows of a table are filtered, found and sorted, numbers before text and empty cells last', () => {
  const data = {
    columns: ['a', 'b'],
    rows: [
      [3, 'x'],
      [null, 'y'],
      ['t', 'Xy'],
      [1, 'z'],
    ],
  }
  expect(rowsOf(data, '', {}, { column: 0, descending: false })).toEqual([3, 0, 2, 1])
  expect(rowsOf(data, '', {}, { column: 0, descending: true })).toEqual([2, 0, 3, 1])
  expect(rowsOf(data, 'x', {}, undefined)).toEqual([0, 2])
  expect(rowsOf(data, '', { 0: '>=3' }, undefined)).toEqual([0])
  expect(cellFilter('!=x')?.('X')).toBe(false)
  expect(cellFilter('  ')).toBeUndefined()
})

test('plots of the reporter and of Plotly are read, and other figures are named', () => {
  expect(readPlot(bytes({ plot: 'roc_curve', curves: [{ y: [0, 1] }] }))).toMatchObject({
    kind: 'curves',
    diagonal: true,
    curves: [{ name: 'curve 1', x: [0, 1] }],
  })
  const typed = { dtype: 'f8', bdata: Buffer.from(new Float64Array([1, 2]).buffer).toString('base64') }
  expect(
    readPlot(
      bytes({
        data: [{ type: 'scatter', x: [1, 2], y: typed, name: 'one' }],
        layout: { title: { text: 'T' } },
      }),
    ),
  ).toMatchObject({
    kind: 'curves',
    title: 'T',
    curves: [{ name: 'one', y: [1, 2] }],
  })
  expect(readPlot(bytes({ data: [{ type: 'scatter3d' }] }))).toMatchObject({
    kind: 'other',
    parts: ['scatter3d'],
  })
  expect(() => readPlot(bytes([1]))).toThrow('not a plot')
})

test('quantiles and the range of a heat map follow from its bins', () => {
  const one = histogram(0, 1) as { _type: 'histogram'; bins: number[]; counts: number[] }
  expect(quantile(one, 0.5)).toBeCloseTo(0, 1)
  expect(quantile(one, 0.95)).toBeCloseTo(1.645, 1)
  expect(quantile({ ...one, counts: one.counts.map(() => 0) }, 0.5)).toBeUndefined()
  const item = { job_id: 'a', key: 'w', step: 3, at: '', values: [one] }
  const map = heatMapOf([item, { ...item, job_id: 'b' }], 'a')
  expect(map.steps).toEqual([3])
  expect([map.low > -4, map.high < 4]).toEqual([true, true])
})

test('heat maps of several jobs share the range of all', () => {
  const of = (job_id: string, mean: number) => ({
    job_id,
    key: 'w',
    step: 0,
    at: '',
    values: [histogram(mean, 0.1) as HistogramMedia],
  })
  const items = [of('a', -2), of('b', 1), of('c', 3)]
  const [low, high] = rangeOfJobs(items, new Set(['a', 'b']))
  expect([low > -3, low < -2, high > 1, high < 2]).toEqual([true, true, true, true])
  const map = heatMapOf(items, 'a', [low, high])
  expect([map.low, map.high]).toEqual([low, high])
})

test('two tables are compared by the column that names their rows, and numbers by how much they grew', () => {
  const table = (...rows: unknown[][]) => ({ columns: ['score', 'id', 'label'], rows })
  const before = table([0.5, 'a', 'cat'], [0.25, 'b', 'dog'], [0.75, 'c', 'cat'], [1, 'd', 'cat'])
  const now = table([0.5, 'a', 'cat'], [0.75, 'b', 'dog'], [0.75, 'c', 'dog'], [2, 'e', 'cat'])
  expect(tableDifference(now, before)).toEqual({
    table: {
      columns: ['difference', 'score', 'Δ score', 'id', 'label', 'label before'],
      rows: [
        ['changed', 0.75, 0.5, 'b', 'dog', null],
        ['changed', 0.75, null, 'c', 'dog', 'cat'],
        ['added', 2, null, 'e', 'cat', null],
        ['removed', 1, null, 'd', 'cat', null],
      ],
    },
    changed: 2,
    added: 1,
    removed: 1,
    equal: 1,
    by: 'id',
    gone: [],
  })
})

test('tables without a column that names rows are compared row by row', () => {
  const found = tableDifference(
    {
      columns: ['x', 'y'],
      rows: [
        [1, 2],
        [1, 3],
        [1, 4],
      ],
    },
    {
      columns: ['x', 'z'],
      rows: [
        [1, 2],
        [2, 2],
      ],
    },
  )
  expect({ ...found, table: found.table.rows }).toEqual({
    table: [
      ['changed', 1, -1, 3],
      ['added', 1, null, 4],
    ],
    changed: 1,
    added: 1,
    removed: 0,
    equal: 1,
    by: undefined,
    gone: ['z'],
  })
})

test('a zoom keeps the point under the pointer, and the image in its pane', () => {
  const zoom = zoomedAt({ scale: 1, x: 0, y: 0 }, 2, { x: 0.25, y: 0 })
  expect(zoom).toEqual({ scale: 2, x: -0.25, y: 0 })
  expect(zoomedAt(zoom, 0.1, { x: 0.5, y: 0.5 })).toEqual({ scale: 1, x: 0, y: 0 })
})

test('files are a tree of folders with their sizes', () => {
  const root = treeOf([
    { path: 'a/b/x.txt', size: 1 },
    { path: 'a/y.txt', size: 2 },
    { path: 'z.txt', size: 4 },
  ])
  expect([root.count, root.size]).toEqual([3, 7])
  expect(root.folders[0]).toMatchObject({ name: 'a', path: 'a/', count: 2, size: 3 })
  expect(foldersOf('a/b/x.txt')).toEqual(['a/', 'a/b/'])
})

test('a page begins at the last step of most keys', () => {
  const key = (last_step: number): MediaKey => ({
    key: 'k',
    type: 'image',
    jobs: 1,
    points: 1,
    first_step: 0,
    last_step,
  })
  expect(lastStepOf([key(90), key(90), key(99)])).toBe(90)
  expect(lastStepOf([key(90), key(99)])).toBe(99)
  expect(lastStepOf([])).toBeUndefined()
})
