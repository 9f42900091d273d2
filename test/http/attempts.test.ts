import { expect, test } from 'vitest'
import { createAttemptLimits } from '../../src/http/request/attempts.ts'

const now = new Date()
const guess = (limits: ReturnType<typeof createAttemptLimits>, account: string) => () =>
  limits.take({ account }, now)

test('an account with repeated wrong passwords stays limited among ten thousand others', () => {
  const limits = createAttemptLimits()
  for (let i = 0; i < 5; i++) guess(limits, 'ada')()
  for (let i = 0; i < 30_000; i++) {
    guess(limits, `other${i}`)()
    if (i % 5_000 === 0) expect(guess(limits, 'ada')).toThrow('Too many attempts')
  }
})

test('the account without attempts for the longest time is dropped, so that memory stays bounded', () => {
  const limits = createAttemptLimits()
  for (let i = 0; i < 5; i++) guess(limits, 'ada')()
  for (let i = 0; i < 10_000; i++) guess(limits, `other${i}`)()
  expect(guess(limits, 'ada')).not.toThrow()
})

test('attempts expire one by one', () => {
  const limits = createAttemptLimits()
  const at = (seconds: number) => limits.take({ account: 'ada' }, new Date(now.getTime() + seconds * 1000))
  for (const seconds of [0, 10, 20, 30, 40]) at(seconds)
  expect(() => at(59)).toThrow(expect.objectContaining({ code: 'too_many_attempts', retryAfterS: 1 }))
  at(60)
  expect(() => at(61)).toThrow(expect.objectContaining({ retryAfterS: 9 }))
})
