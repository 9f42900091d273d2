import { expect, test } from 'vitest'
import { type Frame, makeFrame } from '../../src/stream/frame.ts'
import { newestOnly } from '../../src/stream/newest.ts'
import type { Subscription } from '../../src/stream/subscription.ts'

const frameOf = (seq: number): Frame =>
  makeFrame({ seq, channel: 'batch:b', kind: 'batch', type: 'summary', at: '', payload: '{}' })

/** A source whose frames the test sends. */
function createSource() {
  const frames: Frame[] = []
  let wake = (): void => {}
  let ended = false
  const subscription: Subscription = {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      while (frames.length === 0 && !ended) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const value = frames.shift()
      return value === undefined ? { done: true, value } : { done: false, value }
    },
    async return() {
      ended = true
      wake()
      return { done: true, value: undefined }
    },
    throw: (error) => Promise.reject(error),
    caughtUpTo: 99,
  }
  return {
    subscription,
    send(seq: number) {
      frames.push(frameOf(seq))
      wake()
    },
  }
}

const merge = (earlier: Frame, later: Frame): Frame => ({
  ...later,
  merged: { from: earlier.merged?.from ?? earlier.seq, named: 0 },
})
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('what arrives while the reader is busy becomes one frame', async () => {
  const { subscription, send } = createSource()
  const newest = newestOnly(subscription, merge)
  send(1)
  expect((await newest.next()).value?.seq).toBe(1)
  for (let seq = 2; seq <= 500; seq++) {
    send(seq)
    if (seq % 50 === 0) await settled()
  }
  const second = await newest.next()
  expect([second.value?.seq, second.value?.merged?.from]).toEqual([500, 2])
  // Everything was handed out; a cursor is known only while the reader waits.
  expect(newest.caughtUpTo).toBeUndefined()
  const waiting = newest.next()
  await settled()
  expect(newest.caughtUpTo).toBe(99)
  send(501)
  expect((await waiting).value?.seq).toBe(501)
})

test('the end of the stream ends a waiting reader, from either side', async () => {
  for (const end of ['source', 'reader'] as const) {
    const { subscription } = createSource()
    const newest = newestOnly(subscription, merge)
    const waiting = newest.next()
    await settled()
    await (end === 'source' ? subscription : newest).return()
    expect(await waiting).toEqual({ done: true, value: undefined })
  }
})
