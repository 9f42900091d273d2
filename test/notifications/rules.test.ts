import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { tellSeed } from '../kit/effort.ts'
import { mailSent } from './mailbox.ts'

// Rules over REST (contract §4 "Projects", §7), without a mail server: what would be sent is logged.

const clock = createClock()
let stage: Stage
beforeAll(async () => {
  stage = await openStage({ logLevel: 'info' }, { now: clock.now })
})
afterAll(() => stage?.stop())

let session: string | undefined
const call = (method: string, path: string, body?: unknown) =>
  stage.app.call(method, path, { token: session ?? stage.owner.token, body })

/** Signs in again, once the clock has passed the end of the session. */
async function signIn(): Promise<void> {
  const body = { email: stage.owner.email, password: PASSWORD }
  session = (await stage.app.call('POST', '/api/auth/login', { body })).body.token
}

const METRIC = { trigger: 'metric', condition: { key: 'val_loss', op: '<', value: 0.1 } }

test('a rule can be created, listed, changed and deleted, with the fields of the contract', async () => {
  const made = await call('POST', '/api/projects/vision/rules', {
    name: 'good enough',
    ...METRIC,
    recipients: ['me@example.org'],
    cooldown_s: 60,
  })
  expect(made.status).toBe(201)
  const rule = {
    id: expect.any(String),
    project: 'vision',
    name: 'good enough',
    trigger: 'metric',
    condition: { key: 'val_loss', op: '<', value: 0.1 },
    recipients: ['me@example.org'],
    channels: [{ id: null, kind: 'mail', url: null, has_secret: false }],
    enabled: true,
    cooldown_s: 60,
    unconfirmed: ['me@example.org'],
    created_at: expect.any(String),
  }
  expect(made.body).toEqual(rule)
  clock.forward({ seconds: 1 })
  const plain = await call('POST', '/api/projects/vision/rules', { trigger: 'batch_done' })
  expect(plain.body).toMatchObject({
    name: 'batch_done',
    condition: null,
    recipients: null,
    enabled: true,
    cooldown_s: 600,
  })

  const list = await call('GET', '/api/projects/vision/rules')
  expect(list.body).toEqual({
    items: [plain.body, rule],
    next_cursor: null,
    mail: { configured: false },
  })
  const page = await call('GET', '/api/projects/vision/rules?limit=1')
  const next = await call('GET', `/api/projects/vision/rules?limit=1&cursor=${page.body.next_cursor}`)
  expect([...page.body.items, ...next.body.items]).toEqual([plain.body, rule])

  const path = `/api/rules/${made.body.id}`
  const changed = await call('PATCH', path, { enabled: false, recipients: null, cooldown_s: 0 })
  expect(changed.body).toEqual({
    ...rule,
    enabled: false,
    recipients: null,
    unconfirmed: [],
    cooldown_s: 0,
  })
  const nan = await call('PATCH', path, { condition: { key: 'val_loss', op: 'is_nan' } })
  expect(nan.body.condition).toEqual({ key: 'val_loss', op: 'is_nan', value: null })
  for (const id of [made.body.id, plain.body.id])
    expect((await call('DELETE', `/api/rules/${id}`)).status).toBe(204)
  expect((await call('GET', path.concat('/preview'))).body.code).toBe('rule_not_found')
  expect((await call('GET', '/api/projects/vision/rules')).body.items).toEqual([])
  const audit = await stage.get('/api/admin/audit?subject=project:vision', stage.admin.token)
  expect(audit.body.items.map((entry: { action: string }) => entry.action)).toEqual(
    expect.arrayContaining(['rule.created', 'rule.changed', 'rule.deleted']),
  )
})

test('an invalid rule is refused, naming the field', async () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ trigger: 'job_done' }, 'trigger'],
    [{}, 'trigger'],
    [{ trigger: 'metric' }, 'condition'],
    [{ trigger: 'batch_done', condition: METRIC.condition }, 'condition'],
    [{ trigger: 'metric', condition: { key: 'a', op: '<' } }, 'condition.value'],
    [{ trigger: 'metric', condition: { key: 'a', op: '=', value: 1 } }, 'condition.op'],
    [{ trigger: 'metric', condition: { key: '', op: '<', value: 1 } }, 'condition.key'],
    [{ trigger: 'metric', condition: { key: 'a', op: '<', value: '1' } }, 'condition.value'],
    [{ trigger: 'metric', condition: { key: 'a', op: '<', value: 1, or: 2 } }, 'condition.or'],
    [{ trigger: 'batch_done', recipients: ['a@example.org\r\nBcc: b@example.org'] }, 'recipients.0'],
    [{ trigger: 'batch_done', recipients: ['Team <a@example.org>'] }, 'recipients.0'],
    [{ trigger: 'batch_done', recipients: ['a@example.org, b@example.org'] }, 'recipients.0'],
    [{ trigger: 'batch_done', name: 'two\nlines' }, 'name'],
    [{ trigger: 'batch_done', cooldown_s: -1 }, 'cooldown_s'],
    [{ trigger: 'batch_done', colour: 'red' }, 'colour'],
  ]
  for (const [body, path] of cases) {
    const answer = await call('POST', '/api/projects/vision/rules', body)
    expect([answer.status, answer.body.code], JSON.stringify(body)).toEqual([422, 'invalid_body'])
    expect(
      answer.body.errors.map((error: { path: string }) => error.path),
      JSON.stringify(body),
    ).toContain(path)
  }
  const rule = await call('POST', '/api/projects/vision/rules', METRIC)
  const path = `/api/rules/${rule.body.id}`
  for (const body of [{}, { condition: null }, { trigger: 'batch_done' }, { id: 'x' }]) {
    expect((await call('PATCH', path, body)).status, JSON.stringify(body)).toBe(422)
  }
  expect((await call('PATCH', path, { trigger: 'batch_done', condition: null })).status).toBe(200)
  await call('DELETE', path)
})

test('a project has at most 100 rules', async () => {
  await call('POST', '/api/projects', { slug: 'full' })
  const make = () => call('POST', '/api/projects/full/rules', { trigger: 'batch_done' })
  for (let n = 0; n < 98; n++) expect((await make()).status).toBe(201)
  const last = await Promise.all([make(), make(), make(), make()])
  expect(last.map((answer) => answer.status).sort()).toEqual([201, 201, 409, 409])
})

test('without a mail server a mail is logged, without the unsubscribe link of its recipient, and never sent later', async () => {
  const rule = await call('POST', '/api/projects/vision/rules', {
    trigger: 'job_failed',
    recipients: ['team@example.org'],
  })
  await stage.send(stage.batchOwner, [
    makeEvent('job_failed', { batch_id: 'logged', data: { reason: 'no disk' } }),
  ])
  await mailSent(stage.app.sql)
  const line = stage.app
    .logged()
    .split('\n')
    .find((one) => one.includes('no mail server is set'))
  expect(JSON.parse(line as string).mail).toMatchObject({
    to: 'team@example.org',
    subject: '[vision] logged: job job-1 failed',
    text: expect.stringContaining('no disk'),
  })
  // The port that the system chose, not the 0 of the configuration.
  expect(JSON.parse(line as string).mail.text).toContain(`\n${stage.app.address}/b/logged\n`)
  const [secret] = await stage.app.sql<{ token: string }[]>`select token from notification_recipients`
  expect(stage.app.logged()).not.toContain(secret?.token)
  const states = await stage.app.sql`select state from notification_mails`
  expect(states.map((row) => row.state)).toEqual(['logged'])
  await call('DELETE', `/api/rules/${rule.body.id}`)
})

test('an alert of a run sends mail by a rule for alerts, and a plain log line does not', async () => {
  const rule = await call('POST', '/api/projects/vision/rules', {
    trigger: 'alert',
    recipients: ['alerted@example.org'],
  })
  expect(rule.status).toBe(201)
  const line = (data: Record<string, unknown>) =>
    makeEvent('log_line', {
      batch_id: 'alerting',
      timestamp: clock.now().toISOString(),
      data: { line: 'a line', level: 'warning', ...data },
    })
  await stage.send(stage.batchOwner, [
    line({}),
    line({ alert: 'no object' }),
    line({ alert: { text: 'no title' } }),
  ])
  // By the way that known jobs take, and once more as a repeat.
  const alert = line({ alert: { title: 'Loss exploded', text: '1e9 at step 7' } })
  await stage.send(stage.batchOwner, [alert])
  await stage.send(stage.batchOwner, [alert])
  await mailSent(stage.app.sql)
  const mails = stage.app
    .logged()
    .split('\n')
    .filter((one) => one.includes('no mail server is set') && one.includes('alerted@example.org'))
    .map((one) => JSON.parse(one).mail)
  expect(mails).toMatchObject([
    { subject: '[vision] alerting: Loss exploded', text: expect.stringContaining('1e9 at step 7') },
  ])
  expect((await call('GET', `/api/rules/${rule.body.id}/preview`)).body.fired).toBe(1)
  await call('DELETE', `/api/rules/${rule.body.id}`)
})

test('a preview counts the actual firings, for every trigger of events, with and without a cooldown', async () => {
  await call('POST', '/api/projects', { slug: 'counted' })
  await stage.app.letIn('counted', { token: session ?? stage.owner.token }, stage.batchOwner, 'member')
  const bodies = [
    { trigger: 'batch_done' },
    { trigger: 'batch_failed' },
    { trigger: 'job_failed' },
    { trigger: 'job_failed', cooldown_s: 3 * 3600 },
    { trigger: 'metric', condition: { key: 'val_loss', op: 'is_nan' } },
    { trigger: 'metric', condition: { key: 'val_loss', op: '>=', value: 2 } },
    { trigger: 'metric', condition: { key: 'acc/top1', op: '>', value: 0.5 }, cooldown_s: 5 * 3600 },
    { trigger: 'metric', condition: { key: 'absent', op: '<', value: 1 } },
  ]
  const rules: { id: string }[] = []
  for (const body of bodies) rules.push((await call('POST', '/api/projects/counted/rules', body)).body)

  const draw = randomFrom(tellSeed('preview'))
  for (let hour = 0; hour < 40; hour++) {
    clock.forward({ hours: 1 })
    const common = {
      batch_id: `counted ${Math.floor(draw() * 4)}`,
      source: { project: 'counted' },
      timestamp: clock.now().toISOString(),
    }
    const end = Math.floor(draw() * 5)
    const reason = draw() < 0.3 ? 'stop_requested' : 'ValueError'
    const val_loss = [1, 2, 3, 'NaN'][Math.floor(draw() * 4)]
    await stage.send(stage.batchOwner, [
      makeEvent('job_epoch', {
        ...common,
        job_id: `job ${Math.floor(draw() * 2)}`,
        data: { epoch: hour, val_loss, acc: { top1: draw() } },
      }),
      ...(end === 0 ? [makeEvent('batch_done', common)] : []),
      ...(end === 1 ? [makeEvent('batch_failed', { ...common, data: { reason } })] : []),
      ...(end === 2 ? [makeEvent('job_failed', { ...common, data: { reason } })] : []),
    ])
  }
  await mailSent(stage.app.sql)
  await signIn()
  let all = 0
  for (const [n, rule] of rules.entries()) {
    const [row] = await stage.app.sql<{ n: number }[]>`
      select count(*)::int n from notification_firings where rule_id = ${rule.id} and outcome = 'mail'`
    const preview = await call('GET', `/api/rules/${rule.id}/preview`)
    expect(preview.body, JSON.stringify(bodies[n])).toEqual({
      fired: row?.n,
      since: expect.stringMatching(/Z$/),
      days: 7,
    })
    const unsaved = await call('POST', '/api/projects/counted/rules/preview', {
      ...bodies[n],
      name: 'not yet',
    })
    expect(unsaved.body).toEqual(preview.body)
    all += preview.body.fired
  }
  expect(all).toBeGreaterThan(30)

  // The last event was sent at this very instant, which the first of the seven days still holds.
  clock.forward({ days: 7, seconds: 1 })
  await signIn()
  expect((await call('GET', `/api/rules/${rules[0]?.id}/preview`)).body.fired).toBe(0)
})

test('a preview of failures counts the runs that were lost', async () => {
  await call('POST', '/api/projects', { slug: 'vanished' })
  const body = { email: stage.batchOwner.email, password: PASSWORD }
  const { token } = (await stage.app.call('POST', '/api/auth/login', { body })).body
  await stage.app.letIn('vanished', { token: session ?? '' }, { email: body.email, token }, 'member')
  const rule = await call('POST', '/api/projects/vanished/rules', { trigger: 'batch_failed', cooldown_s: 0 })
  for (let n = 0; n < 3; n++) {
    const common = {
      batch_id: `vanished ${n}`,
      source: { project: 'vanished' },
      timestamp: clock.now().toISOString(),
    }
    await stage.send(stage.batchOwner, [makeEvent('batch_start', common)])
    // One of them fails by itself, which is no loss.
    if (n === 0)
      await stage.send(stage.batchOwner, [
        makeEvent('batch_failed', { ...common, data: { reason: 'KeyError' } }),
      ])
  }
  clock.forward({ hours: 24 })
  await signIn()
  await stage.app.runTask('watch')
  const { sql } = stage.app
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int n from notification_firings where rule_id = ${rule.body.id}`
  expect(row?.n).toBe(3)
  expect((await call('GET', `/api/rules/${rule.body.id}/preview`)).body.fired).toBe(3)
})

test('a preview counts the stalls that were detected', async () => {
  await call('POST', '/api/projects', { slug: 'silent' })
  const body = { email: stage.batchOwner.email, password: PASSWORD }
  const { token } = (await stage.app.call('POST', '/api/auth/login', { body })).body
  await stage.app.letIn('silent', { token: session ?? '' }, { email: body.email, token }, 'member')
  const rule = await call('POST', '/api/projects/silent/rules', { trigger: 'batch_stalled', cooldown_s: 0 })
  const { sql } = stage.app
  for (let n = 0; n < 3; n++) {
    await stage.send(stage.batchOwner, [
      makeEvent('log_line', {
        batch_id: 'silent',
        source: { project: 'silent' },
        timestamp: clock.now().toISOString(),
      }),
    ])
    await stage.app.runTask('watch')
    clock.forward({ minutes: 16 })
    await stage.app.runTask('watch')
  }
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int n from notification_firings where rule_id = ${rule.body.id}`
  expect(row?.n).toBe(3)
  expect((await call('GET', `/api/rules/${rule.body.id}/preview`)).body.fired).toBe(3)
})
