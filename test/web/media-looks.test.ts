import { expect, test } from 'vitest'
import { readLook, readLooks } from '../../web/src/lib/media-looks.ts'

test('an address has the page of a table, and the open image with its comparison', () => {
  const table = { find: 'horse', order: { column: 2, descending: true }, page: 3 }
  expect(readLook(table)).toEqual(table)
  const image = { open: { job: 'seed 1', index: 0 }, with: 'step 5', how: 'slider' as const }
  expect(readLooks({ samples: image, pred: table })).toEqual({ samples: image, pred: table })
})

test('what an address cannot mean is the usual look', () => {
  for (const one of [
    { page: 0 },
    { page: -1 },
    { page: 'next' },
    { open: 'seed1' },
    { open: { job: 'seed1' } },
    { open: { job: 'seed1', index: 1.5 } },
    { open: { job: { a: 1 }, index: 0 } },
    { how: 'side' },
    { how: 7 },
  ])
    expect(readLook(one)).toBeUndefined()
})
