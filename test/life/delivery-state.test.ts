import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deliveryStateOf, type SenderEvidence } from '../../src/domain/batches/delivery-state.ts'

// Contract §10 "Receipt". The model follows each event by itself; the service sees only counts, sender by sender.

type Fate = 'stored' | 'repeated' | 'dropped' | 'rejected' | 'on disk'
interface Sender {
  events: Fate[]
  /** When it counted: a process that is killed never does so at its end. */
  counts: 'at its end' | 'half way' | 'never'
}
const isHere = (fate: Fate): boolean => fate === 'stored' || fate === 'repeated'

const sender = fc.record<Sender>({
  events: fc.array(
    fc.constantFrom<Fate>('stored', 'stored', 'stored', 'repeated', 'dropped', 'rejected', 'on disk'),
  ),
  counts: fc.constantFrom('at its end', 'at its end', 'at its end', 'half way', 'never'),
})
/** Nothing is lost by most: else hardly a run of several senders would be complete. */
const wholeSender = fc.record<Sender>({
  events: fc.array(fc.constantFrom<Fate>('stored', 'repeated')),
  counts: fc.constantFrom('at its end', 'at its end', 'at its end', 'at its end', 'half way', 'never'),
})
const senders = fc.array(fc.oneof({ weight: 4, arbitrary: wholeSender }, sender), {
  minLength: 1,
  maxLength: 6,
})

/** What its counts cover: all its events, or those of its first half. */
const countedOf = ({ events, counts }: Sender): Fate[] =>
  counts === 'never' ? [] : counts === 'half way' ? events.slice(0, events.length >> 1) : events

function evidenceOf(one: Sender): SenderEvidence {
  const counted = countedOf(one)
  const count = (fate: Fate): number => counted.filter((other) => other === fate).length
  return {
    // An event that arrives twice is stored once.
    stored: one.events.filter(isHere).length,
    reported:
      one.counts === 'never'
        ? null
        : { produced: counted.length, dropped: count('dropped'), rejected: count('rejected') },
    final: one.counts === 'at its end',
    named: true,
  }
}

test('a receipt is complete exactly if every sender sent its final count, all its events are stored and no epoch is missing', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(senders, fc.constantFrom(0, 0, 0, 1, 7), fc.boolean(), (all, missingEpochs, over) => {
      const { state, missing } = deliveryStateOf({ over, senders: all.map(evidenceOf), missingEpochs })
      const counted = all.filter(({ counts }) => counts !== 'never')
      const final = all.filter(({ counts }) => counts === 'at its end')
      const toCome = all.flatMap(countedOf).filter((fate) => fate === 'on disk').length
      // Events stored after the count of a process hide as many missing ones: never more than are still to come.
      expect(missing === null).toBe(counted.length === 0)
      if (counted.length === final.length) expect(missing ?? 0).toBe(toCome)
      expect(missing ?? 0).toBeLessThanOrEqual(toCome)
      const isLost = (one: Sender): boolean => !countedOf(one).every(isHere)
      if (!over) expect(state).toBe('open')
      else if (missingEpochs > 0 || final.some(isLost)) expect(state).toBe('incomplete')
      else if (final.length === all.length) expect(state).toBe('complete')
      else if (all.some(isLost)) expect(['incomplete', 'unknown']).toContain(state)
      else expect(state).toBe('unknown')
      seen.add(state)
    }),
    { numRuns: 500 },
  )
  expect(seen).toEqual(new Set(['open', 'complete', 'incomplete', 'unknown']))
})

test('stored events of one sender never replace lost events of another', () => {
  const lossy: SenderEvidence = {
    stored: 90,
    reported: { produced: 100, dropped: 0, rejected: 0 },
    final: true,
    named: true,
  }
  const others: SenderEvidence[] = [
    { stored: 10, reported: { produced: 10, dropped: 0, rejected: 0 }, final: true, named: true },
    { stored: 10, reported: null, final: false, named: true },
  ]
  for (const other of others) {
    const judged = deliveryStateOf({ over: true, senders: [lossy, other], missingEpochs: 0 })
    expect(judged).toEqual({ state: 'incomplete', missing: 10 })
  }
})

test('a sender whose events may be among those of unknown senders is neither incomplete nor complete', () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(50), fc.nat(50), (stored, missing, unknown) => {
      const named: SenderEvidence = {
        stored,
        reported: { produced: stored + missing, dropped: 0, rejected: 0 },
        final: true,
        named: true,
      }
      const { state } = deliveryStateOf({
        over: true,
        senders: [named, { stored: unknown + 1, reported: null, final: false, named: false }],
        missingEpochs: 0,
      })
      expect(state).toBe(missing > unknown + 1 ? 'incomplete' : 'unknown')
    }),
  )
})

test('a receipt without a count of its reporter is never complete', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.boolean(), fc.boolean(), (stored, missingEpochs, over, named) => {
      const { state, missing } = deliveryStateOf({
        over,
        senders: [{ stored, reported: null, final: false, named }],
        missingEpochs,
      })
      expect(missing).toBeNull()
      expect(state).not.toBe('complete')
    }),
  )
})
