import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createPing } from '../../src/db/ping.ts'

const never = () => new Promise<never>(() => {})

test('calls at the same time share one question', async () => {
  let asked = 0
  const ping = createPing(async () => ++asked, 1_000)
  expect(await Promise.all([ping(), ping(), ping()])).toEqual([1, 1, 1])
  expect(await ping()).toBe(2)
})

test('an answer that arrives while this process is blocked is in time', async () => {
  const ping = createPing(async () => {
    // Like a socket: read in the poll phase, after the timers.
    await new Promise<void>((resolve) => {
      const server = new MessageChannel()
      server.port1.onmessage = () => {
        server.port1.close()
        resolve()
      }
      server.port2.postMessage('answer')
    })
    return 'answer'
  }, 20)
  const answer = ping()
  const end = performance.now() + 100
  while (performance.now() < end);
  expect(await answer).toBe('answer')
})

test('few questions wait for a database that does not answer, and later ones fail at once', async () => {
  let asked = 0
  const ping = createPing(() => {
    asked++
    return never()
  }, 5)
  for (let n = 0; n < 20; n++) await expect(ping()).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  expect(asked).toBe(5)
})

test('an error of the database is passed on', async () => {
  let broken = true
  const ping = createPing(async () => {
    await sleep(1)
    if (broken) throw new Error('refused')
    return 'well'
  }, 1_000)
  await expect(ping()).rejects.toThrow('refused')
  broken = false
  expect(await ping()).toBe('well')
})
