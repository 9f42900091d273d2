import fc from 'fast-check'
import { expect, test } from 'vitest'
import { textsOfObjects } from '../../src/ingest/elements.ts'

const blank = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
const objects = fc.array(
  fc.oneof(
    fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
    // Refused by itself, and counted, so that the other events keep their own texts.
    fc.array(fc.jsonValue()),
    fc.constant({ 'a"{[': '\\"}]', deep: [{ '\\': ['}'] }] }),
  ),
  { maxLength: 5 },
)

test('the objects of an array are cut out of its text byte for byte', () => {
  fc.assert(
    fc.property(objects, blank, fc.nat(2), (values, space, indent) => {
      const written = values.map((value) => JSON.stringify(value, null, indent))
      const text = `${space}[${space}${written.join(`${space},${space}`)}${space}]${space}`
      expect(textsOfObjects(text)).toEqual(written)
    }),
  )
})
