import { describe, expect, test } from 'vitest'
import {
  type Clock,
  canEvaluate,
  type GpuSeen,
  idleBefore,
  isIdle,
  isStalled,
  lossBySilence,
  lostBefore,
  sinceMs,
  stalledBefore,
} from '../../src/domain/liveness.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const minutesAgo = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString()
const clock = (more: Partial<Clock> = {}): Clock => ({
  now: new Date(NOW),
  startedAt: new Date(NOW - 24 * 3_600_000),
  stallTimeoutMin: 5,
  lostAfterMin: 10,
  idleJobThresholdMin: 30,
  ...more,
})
/** A service that has received events for so many minutes. */
const upFor = (minutes: number): Clock => clock({ startedAt: new Date(NOW - minutes * 60_000) })

describe('silence', () => {
  test.each([
    ['running', 5, false],
    ['running', 5.01, true],
    ['completed', 60, false],
  ])('a %s batch that was silent for %d minutes is stalled: %s', (status, minutes, stalled) => {
    expect(isStalled({ status, aliveAt: minutesAgo(minutes) }, clock())).toBe(stalled)
  })

  test.each([
    ['running', 10, null],
    ['running', 11.5, 'no events for 11 min'],
    ['failed', 60, null],
  ])('a %s batch that was silent for %d minutes is lost: %s', (status, minutes, reason) => {
    expect(lossBySilence({ status, heardAt: minutesAgo(minutes) }, clock())).toBe(reason)
  })

  test('the reason of a loss within two minutes counts seconds', () => {
    const batch = { status: 'running', heardAt: minutesAgo(1.5) }
    expect(lossBySilence(batch, clock({ lostAfterMin: 1 }))).toBe('no events for 90 s')
  })

  test('a clock ahead of ours is no silence', () => {
    expect(sinceMs(minutesAgo(-3), new Date(NOW))).toBe(0)
  })

  test('after an outage nothing is evaluated for the length of the threshold', () => {
    const silent = { status: 'running', aliveAt: minutesAgo(60), heardAt: minutesAgo(60) }
    expect([canEvaluate(5, upFor(4.9)), canEvaluate(5, upFor(5))]).toEqual([false, true])
    expect([isStalled(silent, upFor(4.9)), isStalled(silent, upFor(5))]).toEqual([false, true])
    expect([lossBySilence(silent, upFor(9.9)), lossBySilence(silent, upFor(10))]).toEqual([
      null,
      'no events for 60 min',
    ])
  })

  test('the limits of lists are the same as those of single reads', () => {
    expect(stalledBefore(clock())?.toISOString()).toBe(minutesAgo(5))
    expect(lostBefore(clock())?.toISOString()).toBe(minutesAgo(10))
    expect(idleBefore(clock())?.toISOString()).toBe(minutesAgo(30))
    expect([stalledBefore(upFor(4)), lostBefore(upFor(9)), idleBefore(upFor(29))]).toEqual([null, null, null])
  })
})

describe('a running job is idle', () => {
  const gpu = (more: Partial<GpuSeen> = {}): GpuSeen => ({
    firstAt: minutesAgo(90),
    lastAt: minutesAgo(1),
    busyAt: minutesAgo(40),
    lowSamples: 39,
    ...more,
  })
  const NONE: GpuSeen = { firstAt: null, lastAt: null, busyAt: null, lowSamples: 0 }
  const job = (seen: GpuSeen, more: object = {}) => ({
    status: 'running',
    startedAt: minutesAgo(90),
    gpu: seen,
    ...more,
  })

  test.each<[string, boolean, GpuSeen, object?]>([
    ['after the threshold below 5%', true, gpu()],
    ['not before it', false, gpu({ busyAt: minutesAgo(29) })],
    ['if it was never busy, from the first sample on', true, gpu({ busyAt: null })],
    ['not if its last sample is busy', false, gpu({ busyAt: minutesAgo(1) })],
    ['not by four samples', false, gpu({ lowSamples: 4 })],
    ['not if the samples stopped half a threshold ago', false, gpu({ lastAt: minutesAgo(15.1) })],
    ['not for longer than it runs', false, gpu(), { startedAt: minutesAgo(20) }],
    ['not after its end', false, gpu(), { status: 'completed' }],
  ])('%s', (_, idle, seen, more) => {
    expect(isIdle(job(seen, more), NONE, clock())).toBe(idle)
  })

  test('by the samples of its batch if it has none, and only then', () => {
    expect(isIdle(job(NONE), gpu(), clock())).toBe(true)
    expect(isIdle(job(gpu({ busyAt: minutesAgo(1) })), gpu(), clock())).toBe(false)
    expect(isIdle(job(NONE), NONE, clock())).toBe(false)
  })

  test('not while it cannot be known', () => {
    expect(isIdle(job(gpu()), NONE, upFor(29))).toBe(false)
  })
})
