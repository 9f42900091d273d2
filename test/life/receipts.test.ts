import fc from 'fast-check'
import { expect, test } from 'vitest'
import { receiptOf, type SenderEvidence } from '../../src/domain/batches/receipt.ts'

// Contract §10 "Receipt". The model follows each event by itself; the service sees only counts, sender by sender.

type Fate = 'stored' | 'repeated' | 'dropped' | 'rejected' | 'on disk'
interface Sender {
  events: Fate[]
  /** Whether it counted, as a process that is killed does not. */
  counts: boolean
}
const isHere = (fate: Fate): boolean => fate === 'stored' || fate === 'repeated'

const sender = fc.record<Sender>({
  events: fc.array(
    fc.constantFrom<Fate>('stored', 'stored', 'stored', 'repeated', 'dropped', 'rejected', 'on disk'),
  ),
  counts: fc.constantFrom(true, true, true, false),
})
/** Nothing is lost by most: else hardly a run of several senders would be complete. */
const wholeSender = fc.record<Sender>({
  events: fc.array(fc.constantFrom<Fate>('stored', 'repeated')),
  counts: fc.constantFrom(true, true, true, true, false),
})
const senders = fc.array(fc.oneof({ weight: 4, arbitrary: wholeSender }, sender), {
  minLength: 1,
  maxLength: 6,
})

function evidenceOf({ events, counts }: Sender): SenderEvidence {
  const count = (...some: Fate[]): number => events.filter((fate) => some.includes(fate)).length
  return {
    // An event that arrives twice is stored once.
    stored: count('stored', 'repeated'),
    reported: counts
      ? { produced: events.length, dropped: count('dropped'), rejected: count('rejected') }
      : null,
    named: true,
  }
}

test('a receipt is complete exactly when every sender counted, all its events are stored and no epoch is missing', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(senders, fc.constantFrom(0, 0, 0, 1, 7), fc.boolean(), (all, missingEpochs, over) => {
      const { state, missing } = receiptOf({ over, senders: all.map(evidenceOf), missingEpochs })
      const counted = all.filter(({ counts }) => counts)
      const toCome = counted.flatMap(({ events }) => events).filter((fate) => fate === 'on disk').length
      expect(missing).toBe(counted.length === 0 ? null : toCome)
      const isKnownLoss = missingEpochs > 0 || counted.some(({ events }) => !events.every(isHere))
      const expected = isKnownLoss ? 'incomplete' : counted.length === all.length ? 'complete' : 'unknown'
      expect(state).toBe(over ? expected : 'open')
      seen.add(state)
    }),
    { numRuns: 500 },
  )
  expect(seen).toEqual(new Set(['open', 'complete', 'incomplete', 'unknown']))
})

test('what one sender stored never makes up for what another lost', () => {
  const lossy: SenderEvidence = {
    stored: 90,
    reported: { produced: 100, dropped: 0, rejected: 0 },
    named: true,
  }
  const others: SenderEvidence[] = [
    { stored: 10, reported: { produced: 10, dropped: 0, rejected: 0 }, named: true },
    { stored: 10, reported: null, named: true },
  ]
  for (const other of others) {
    const judged = receiptOf({ over: true, senders: [lossy, other], missingEpochs: 0 })
    expect(judged).toEqual({ state: 'incomplete', missing: 10 })
  }
})

test('a sender whose events may be among those of unknown senders is not called incomplete, nor complete', () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(50), fc.nat(50), (stored, missing, unknown) => {
      const named: SenderEvidence = {
        stored,
        reported: { produced: stored + missing, dropped: 0, rejected: 0 },
        named: true,
      }
      const { state } = receiptOf({
        over: true,
        senders: [named, { stored: unknown + 1, reported: null, named: false }],
        missingEpochs: 0,
      })
      expect(state).toBe(missing > unknown + 1 ? 'incomplete' : 'unknown')
    }),
  )
})

test('without a count of its reporter a receipt is never complete', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.boolean(), fc.boolean(), (stored, missingEpochs, over, named) => {
      const { state, missing } = receiptOf({
        over,
        senders: [{ stored, reported: null, named }],
        missingEpochs,
      })
      expect(missing).toBeNull()
      expect(state).not.toBe('complete')
    }),
  )
})
