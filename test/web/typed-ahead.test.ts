import { afterEach, expect, test, vi } from 'vitest'
import { expectTyping, takeTyped, typeAhead } from '../../web/src/app/typed-ahead.ts'

afterEach(() => vi.useRealTimers())

test('keys pressed before the search field is there are not lost, and are shortcuts otherwise', () => {
  expect(typeAhead('j')).toBe(false)
  expectTyping()
  expect([...'mix'].map(typeAhead)).toEqual([true, true, true])
  expect(typeAhead('Escape')).toBe(false)
  expect(takeTyped()).toBe('mix')
  expect(takeTyped()).toBe('')
  expect(typeAhead('j')).toBe(false)
})

test('a field that never comes does not keep the keys', () => {
  vi.useFakeTimers()
  expectTyping()
  vi.setSystemTime(Date.now() + 6_000)
  expect(typeAhead('j')).toBe(false)
})
