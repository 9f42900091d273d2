import { expect, test } from 'vitest'
import { changesTags, editedTags, MAX_TAGS } from '../../src/domain/tags.ts'

test.each([
  [{}, ['a', 'b'], false],
  [{ tags: ['c', 'c'] }, ['c'], true],
  [{ tags: [] }, [], true],
  [{ add_tags: ['b', 'c'] }, ['a', 'b', 'c'], true],
  [{ remove_tags: ['a', 'never there'] }, ['b'], true],
  [{ tags: ['x', 'y'], remove_tags: ['x'], add_tags: ['z'] }, ['y', 'z'], true],
  [{ add_tags: ['a'], remove_tags: ['a'] }, ['b', 'a'], true],
])('%j leaves %j of a and b', (edit, left, changes) => {
  expect(editedTags(['a', 'b'], edit)).toEqual(left)
  expect(changesTags(edit)).toBe(changes)
})

test('a batch may have a hundred tags and no more', () => {
  const many = Array.from({ length: MAX_TAGS }, (_, i) => `tag ${i}`)
  expect(editedTags([], { tags: many })).toHaveLength(MAX_TAGS)
  expect(editedTags(many, { add_tags: ['tag 1'] })).toHaveLength(MAX_TAGS)
  expect(() => editedTags(many, { add_tags: ['one more'] })).toThrow()
  expect(editedTags(many, { add_tags: ['one more'], remove_tags: ['tag 0'] })).toHaveLength(MAX_TAGS)
})
