import fc from 'fast-check'
import { expect, test } from 'vitest'
import { receiptOf } from '../../src/domain/batches/receipt.ts'

// Contract §10 "Receipt". The model follows each event by itself; the service sees only counts.

type Fate = 'stored' | 'repeated' | 'dropped' | 'rejected' | 'on disk'
const fates = fc.array(
  fc.constantFrom<Fate>('stored', 'stored', 'stored', 'repeated', 'dropped', 'rejected', 'on disk'),
)

test('a receipt is complete exactly when every event that was produced is stored and no epoch is missing', () => {
  fc.assert(
    fc.property(fates, fc.constantFrom(0, 0, 0, 1, 7), fc.boolean(), (events, missingEpochs, over) => {
      const count = (...some: Fate[]): number => events.filter((fate) => some.includes(fate)).length
      const { state, missing } = receiptOf({
        over,
        // An event that arrives twice is stored once.
        stored: count('stored', 'repeated'),
        reported: { produced: events.length, dropped: count('dropped'), rejected: count('rejected') },
        missingEpochs,
      })
      const allHere = events.every((fate) => fate === 'stored' || fate === 'repeated')
      expect(missing).toBe(count('on disk'))
      expect(state).toBe(over ? (allHere && missingEpochs === 0 ? 'complete' : 'incomplete') : 'open')
    }),
  )
})

test('without a count of its reporter a receipt is never complete', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.boolean(), (stored, missingEpochs, over) => {
      const { state, missing } = receiptOf({ over, stored, reported: null, missingEpochs })
      expect(missing).toBeNull()
      expect(state).not.toBe('complete')
    }),
  )
})
