import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createBoundedQueue } from '../../src/bounded-queue.ts'
import { createSignInLimiter } from '../../src/http/sign-in/sign-in-limiter.ts'
import { Problem } from '../../src/problem.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

const clock = createClock()
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ trustProxy: true }, { now: clock.now })
})
afterAll(() => app?.stop())
beforeEach(() => clock.forward({ hours: 2 }))

let accounts = 0
const at = (address: string) => ({ 'x-forwarded-for': address })
const login = (email: string, password: string, address: string, cookie?: string) =>
  app.call('POST', '/api/auth/login', {
    body: { email, password },
    headers: at(address),
    ...(cookie === undefined ? {} : { cookie }),
  })
async function account(address: string): Promise<{ email: string; cookie: string }> {
  const email = `owner${++accounts}@example.org`
  const made = await app.call('POST', '/api/auth/register', {
    body: { email, password: PASSWORD },
    headers: at(address),
  })
  return { email, cookie: made.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '' }
}

test('guesses at an account lock out the address of the attacker and not the owner', async () => {
  const { email } = await account('192.0.2.1')
  for (let i = 0; i < 5; i++) expect((await login(email, 'wrong password', '203.0.113.9')).status).toBe(401)
  expect((await login(email, PASSWORD, '203.0.113.9')).status).toBe(429)
  expect((await login(email, PASSWORD, '192.0.2.1')).status).toBe(200)
  expect((await login(email, PASSWORD, '198.51.100.7')).status).toBe(200)
})

test('after a hundred wrong passwords from many addresses, sign-ins from new addresses are refused, but not from those of the owner', async () => {
  const { email, cookie } = await account('192.0.2.2')
  for (let i = 0; i < 100; i++) {
    expect((await login(email, 'wrong password', `203.0.113.${i}`)).status).toBe(401)
  }
  const stranger = await login(email, PASSWORD, '198.51.100.8')
  expect([stranger.status, stranger.body.code]).toEqual([429, 'too_many_attempts'])
  expect(Number(stranger.headers['retry-after'])).toBeGreaterThan(60)
  expect((await login(email, PASSWORD, '192.0.2.2')).status).toBe(200)
  expect((await login(email, PASSWORD, '198.51.100.9', cookie)).status).toBe(200)
}, 60_000)

test('a check that fails because the service is busy is not counted as a wrong password', async () => {
  const guesses = createSignInLimiter({ perHour: 100 })
  const who = { account: 'ada', address: '192.0.2.1' }
  const never = async () => false
  for (let i = 0; i < 50; i++) {
    const busy = guesses.check(who, clock.now(), never, async () => {
      throw new Problem('overloaded')
    })
    await expect(busy).rejects.toThrow('busy')
  }
  expect(await guesses.check(who, clock.now(), never, async () => true)).toBe(true)
  for (let i = 0; i < 5; i++) await guesses.check(who, clock.now(), never, async () => false)
  await expect(guesses.check(who, clock.now(), never, async () => true)).rejects.toThrow('Too many attempts')
})

test('many registrations at once leave capacity for sign-ins', async () => {
  const gate = createBoundedQueue({
    atOnce: 2,
    lanes: { 'sign-in': { atOnce: 2, waiting: 10 }, 'new-account': { atOnce: 1, waiting: 3 } },
  })
  const done: string[] = []
  const open: (() => void)[] = []
  const work = (name: string) => () =>
    new Promise<void>((end) =>
      open.push(() => {
        done.push(name)
        end()
      }),
    )
  const crowd = Array.from({ length: 4 }, (_, i) => gate.run('new-account', work(`new ${i}`)))
  await expect(gate.run('new-account', work('one too many'))).rejects.toThrow('busy')
  const person = gate.run('sign-in', work('person'))
  await new Promise(setImmediate)
  expect(gate.counts).toEqual({ running: 2, waiting: 3, refused: 1 })
  open[1]?.()
  await person
  expect(done).toEqual(['person'])
  for (let i = 0; i < 5; i++) {
    for (const end of open.splice(0)) end()
    await new Promise(setImmediate)
  }
  await Promise.all(crowd)
})
