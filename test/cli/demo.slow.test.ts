import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { runCli } from './process.ts'

vi.setConfig({ testTimeout: 240_000 })

let app: TestApp
let home: string
beforeAll(async () => {
  app = await startTestApp()
  home = memoryFolder('svc-demo-').path
})
afterAll(async () => {
  await app.stop()
  rmSync(home, { recursive: true, force: true })
})

const demo = (settings: Record<string, string> = {}) =>
  runCli(['demo'], { SVC_URL: app.address, SVC_DATA_DIR: home, SVC_DEMO_LIVE_S: '0', ...settings }).ended

test('the demo creates an account, sends the recorded sweep and prints its jobs as stored', async () => {
  const { code, out, err } = await demo()
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/^Made an account: demo@example\.com, password \S{16}\n/)
  expect(out).toMatch(
    /digits \/ digits-sweep-\d{8}-\d{6}-[0-9a-f]{4}: completed, 7 of 8 jobs done, 1 failed, 31.01 s/,
  )
  expect(out.match(/^ {2}h\d+-\S+ +completed +40 /gm)).toHaveLength(7)
  expect(out).toMatch(/h64-lr0\.02-steps +failed +18 .*IndexError: tuple index out of range/)
  expect(out).toMatch(/h128-lr0\.5-seed0 +completed +40 +NaN +NaN +0\.1 /)

  const [, email, password] = /: (\S+), password (\S+)/.exec(out) ?? []
  const session = await app.call('POST', '/api/auth/login', { body: { email, password } })
  const address = /Address +(\S+)/.exec(out)?.[1] as string
  const batch = await app.call('GET', new URL(address).pathname.replace(/^\/b\//, '/api/batches/'), {
    token: session.body.token,
  })
  expect(batch.body).toMatchObject({
    project: 'digits',
    status: 'completed',
    n_total: 8,
    n_done: 7,
    n_failed: 1,
  })
  expect(Date.now() - Date.parse(batch.body.last_seen_at)).toBeLessThan(60_000)
  const tokens = await app.call('GET', '/api/tokens', { token: session.body.token })
  expect(tokens.body.items).toEqual([]) // the one it sent with is revoked
})

test('a second demo signs in to the same account and creates another batch', async () => {
  const { code, out } = await demo()
  expect(code).toBe(0)
  expect(out).toMatch(/^Signed in as demo@example\.com, password \S{16}\n/)
  const [row] = await app.sql`/* test.count */ select count(*)::int as n from batches`
  expect(row).toEqual({ n: 2 })
})

test('a real training reports live beside it, to the end', async () => {
  const { code, out, err } = await demo({ SVC_DEMO_LIVE_S: '1' })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(/The live training is over\.\n$/)
  const rows = await app.sql<
    { status: string; id: string; epochs: number; delivery: unknown }[]
  >`/* test.live */
    select b.status, j.id, p.epochs, b.ending -> 'delivery' delivery
    from batches b join jobs j on j.batch_key = b.key join job_progress p on p.job_key = j.key
    where 'live' = any (b.tags) order by j.key`
  expect(rows.map(({ status, id, epochs }) => [status, id, epochs])).toEqual([
    ['completed', 'softmax-lr0.05', 40],
    ['completed', 'softmax-lr0.5', 40],
    ['completed', 'softmax-lr30.0', 40],
  ])
  expect(rows[0]?.delivery).toMatchObject({ dropped: 0, spilled: 0 })
})

test('if the demo account exists with another password, the demo names the settings that it needs', async () => {
  const { code, err } = await demo({ SVC_DATA_DIR: join(home, 'elsewhere') })
  expect(code).toBe(1)
  expect(err).toBe(
    `svc: the demo cannot make an account at ${app.address}: set SVC_DEMO_EMAIL and SVC_DEMO_PASSWORD to one of yours\n`,
  )
})

test('a user who is not a member of the project digits gets a message that it belongs to another user', async () => {
  const { email } = await app.register()
  const { code, err } = await demo({ SVC_DEMO_EMAIL: email, SVC_DEMO_PASSWORD: 'correct horse battery' })
  expect(code).toBe(1)
  expect(err).toMatch(
    /^svc: the service refused an event: project_forbidden, .*the project digits is someone else's/,
  )
})

test('the address of a service that does not answer is shown', async () => {
  const { code, err } = await demo({ SVC_URL: 'http://127.0.0.1:1/' })
  expect({ code, err }).toEqual({
    code: 1,
    err: 'svc: no service answers at http://127.0.0.1:1: start it, or correct SVC_URL\n',
  })
})
