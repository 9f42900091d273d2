import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import type { Answer } from '../kit/http.ts'
import { ANY_MAIL, type Mailbox, openMailbox } from './mailbox.ts'
import { isSigned, openReceiver, type Receiver } from './receiver.ts'

type Body = Answer['body']

// Channels of rules (contract §11), with a real receiver: formats, signatures, retries, order, the log of deliveries.

const HOME = 'https://monitor.example.org'
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const clock = createClock()
let box: Mailbox
let receiver: Receiver
let door: Door
let projects = 0

beforeAll(async () => {
  ;[box, receiver] = await Promise.all([openMailbox(), openReceiver()])
  door = await openDoor(
    {
      smtp: { url: box.url, from: 'monitor@example.org' },
      mail: { ...ANY_MAIL, perRecipient: 4 },
      publicUrl: HOME,
      allowedHosts: ['*'],
      webhookPrivate: true,
      encryptionKey: 'a key of at least 32 characters!!',
    },
    { now: clock.now },
  )
})
afterAll(async () => {
  await door?.stop()
  await Promise.all([box?.stop(), receiver?.stop()])
})

async function must(status: number, method: string, path: string, body?: unknown) {
  const answer = await door.app.call(method, path, {
    token: door.session,
    ...(body !== undefined && { body }),
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  return answer.body
}

/** A project with one rule. */
async function ruleWith(fields: Record<string, unknown>) {
  const slug = `channels-${++projects}`
  await must(201, 'POST', '/api/projects', { slug })
  const rule = await must(201, 'POST', `/api/projects/${slug}/rules`, {
    trigger: 'job_failed',
    cooldown_s: 0,
    ...fields,
  })
  return { slug, rule }
}

async function fail(slug: string, jobs: string[]): Promise<void> {
  const common = { batch_id: `${slug} run`, source: { project: slug } }
  const events = jobs.flatMap((job_id) => [
    makeEvent('job_epoch', { ...common, job_id, data: { epoch: 3, train_loss: 0.25, val_loss: 0.5 } }),
    makeEvent('job_failed', { ...common, job_id, data: { reason: 'CUDA <!channel> out of memory' } }),
  ])
  expect((await door.sendAll([makeEvent('batch_start', common), ...events])).status).toBe(200)
}

const deliveriesOf = async (rule: { id: string }) =>
  (await must(200, 'GET', `/api/rules/${rule.id}/deliveries`)).items
const statesOf = async (rule: { id: string }): Promise<string[]> =>
  (await deliveriesOf(rule)).map((one: { state: string }) => one.state)
const PATIENT = { timeout: 60_000, interval: 50 }

test('every kind gets the message in its own format, and secrets are never shown again', async () => {
  const { slug, rule } = await ruleWith({
    name: 'failures',
    channels: [
      { kind: 'mail', recipients: ['team@example.org'] },
      { kind: 'webhook', url: `${receiver.url}/hook?key=hidden`, secret: SECRET },
      { kind: 'slack', url: `${receiver.url}/slack/T0/secret` },
      { kind: 'discord', url: `${receiver.url}/discord/secret` },
      { kind: 'teams', url: `${receiver.url}/teams/secret` },
      { kind: 'ntfy', url: `${receiver.url}/my-topic`, token: 'tk_secret' },
    ],
  })
  expect(rule.recipients).toEqual(['team@example.org'])
  const shown = JSON.stringify([
    rule,
    await must(200, 'GET', `/api/projects/${slug}/rules`),
    await must(200, 'PATCH', `/api/rules/${rule.id}`, { cooldown_s: 0 }),
  ])
  expect(shown).not.toMatch(/whsec_|hidden|"secret"|T0\/|tk_/)
  expect(rule.channels.map(({ kind, url, has_secret }: Body) => [kind, url, has_secret])).toEqual([
    ['mail', null, false],
    ['webhook', `${receiver.url}/hook?…`, true],
    ['slack', `${receiver.url}/…`, true],
    ['discord', `${receiver.url}/…`, true],
    ['teams', `${receiver.url}/…`, true],
    ['ntfy', `${receiver.url}/my-topic`, true],
  ])
  const stored = await door.sql<{ text: string }[]>`
    select encode(sealed, 'escape') || shown::text as text from notification_channels where sealed is not null`
  expect(JSON.stringify(stored)).not.toMatch(/whsec_|tk_secret|T0\//)

  await fail(slug, ['job-1'])
  await expect.poll(() => statesOf(rule), PATIENT).toEqual(Array(6).fill('sent'))
  expect(box.received.map((one) => one.mail.subject)).toEqual([`[${slug}] ${slug} run: job job-1 failed`])

  const [hook] = receiver.at('/hook?key=hidden')
  const link = `${HOME}/b/${encodeURIComponent(`${slug} run`)}`
  expect(isSigned(hook!, SECRET)).toBe(true)
  expect(isSigned({ ...hook!, text: `${hook!.text} ` }, SECRET)).toBe(false)
  expect(hook!.body).toMatchObject({
    type: 'job_failed',
    timestamp: expect.any(String),
    data: {
      rule: { id: rule.id, name: 'failures', trigger: 'job_failed' },
      project: { slug },
      batch: { id: `${slug} run`, status: 'running', n_failed: 1 },
      jobs: [
        {
          id: 'job-1',
          status: 'failed',
          last: [
            { name: 'train_loss', epoch: 3, value: 0.25 },
            { name: 'val_loss', epoch: 3, value: 0.5 },
          ],
        },
      ],
      reason: 'CUDA <!channel> out of memory',
      url: link,
    },
  })
  const headline = `${slug} run: job job-1 failed`
  const [slack] = receiver.at('/slack/T0/secret')
  expect(slack!.body.text).toBe(`[${slug}] ${headline}`)
  const texts = slack!.body.blocks.flatMap((block: Body) => block.text ?? block.elements)
  expect(texts.every((one: Body) => one.type === 'plain_text' || one.type === 'button')).toBe(true)
  expect(JSON.stringify(slack!.body.blocks)).toContain('train_loss 0.25 (epoch 3)')
  expect(slack!.body.blocks[2].elements[0].url).toBe(link)
  const [discord] = receiver.at('/discord/secret')
  expect(discord!.body).toMatchObject({
    allowed_mentions: { parse: [] },
    embeds: [{ title: headline, url: link, color: 0xdc2626, image: { url: 'attachment://chart.png' } }],
    attachments: [{ id: 0, filename: 'chart.png', description: expect.stringContaining(`${slug} run`) }],
  })
  expect(discord!.files['chart.png']?.subarray(1, 4).toString()).toBe('PNG')
  const [teams] = receiver.at('/teams/secret')
  expect(teams!.body.attachments[0]).toMatchObject({
    contentType: 'application/vnd.microsoft.card.adaptive',
    content: { type: 'AdaptiveCard', actions: [{ type: 'Action.OpenUrl', url: link }] },
  })
  const [ntfy] = receiver.at('/')
  expect(ntfy!.headers.authorization).toBe('Bearer tk_secret')
  expect(ntfy!.body).toMatchObject({ topic: 'my-topic', title: headline, priority: 4, click: link })

  const previews = (await must(200, 'GET', `/api/rules/${rule.id}/messages`)).items
  expect(previews.map(({ kind }: Body) => kind)).toEqual([
    'mail',
    'webhook',
    'slack',
    'discord',
    'teams',
    'ntfy',
  ])
  expect(previews[1].request.body.data).toMatchObject({ batch: { id: `${slug} run` }, url: link })
  expect(JSON.stringify(previews)).not.toContain('tk_secret')
  const graph = await door.app.call('POST', '/graphql', {
    token: door.session,
    body: { query: `{ project(slug: "${slug}") { rules { items { channels } } } }` },
  })
  expect(graph.body.data.project.rules.items[0].channels).toEqual(rule.channels)
})

test('a refused message is tried again with the same id and content, and then counts as sent', async () => {
  const path = '/flaky'
  receiver.answers.set(path, [{ status: 500, body: 'x'.repeat(100_000) }])
  const { slug, rule } = await ruleWith({
    channels: [{ kind: 'webhook', url: receiver.url + path, secret: SECRET }],
  })
  await fail(slug, ['job-1'])
  await expect.poll(() => receiver.at(path).length, PATIENT).toBe(1)
  let waiting: Body
  await expect
    .poll(async () => {
      waiting = (await deliveriesOf(rule))[0]
      return waiting
    }, PATIENT)
    .toMatchObject({
      kind: 'webhook',
      state: 'waiting',
      attempts: 1,
      status: 500,
      body: 'x'.repeat(1_000),
      error: 'HTTP 500',
      batch_id: `${slug} run`,
      test: false,
      subject: `[${slug}] ${slug} run: job job-1 failed`,
    })
  const pauseS = (Date.parse(waiting.next_attempt_at) - Date.parse(waiting.last_attempt_at)) / 1000
  expect(pauseS).toBeGreaterThanOrEqual(5)
  expect(pauseS).toBeLessThan(6)
  await expect.poll(() => statesOf(rule), PATIENT).toEqual(['sent'])
  const [first, second, ...more] = receiver.at(path)
  expect(more).toEqual([])
  expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id'])
  expect(second!.text).toBe(first!.text)
  expect(isSigned(second!, SECRET)).toBe(true)
})

test('after a day without success a message has failed; "send again" gives it another day', async () => {
  const path = '/down'
  const answers = Array.from({ length: 2 }, () => ({ status: 503, headers: { 'Retry-After': '600' } }))
  receiver.answers.set(path, answers)
  const { slug, rule } = await ruleWith({
    channels: [{ kind: 'webhook', url: receiver.url + path, secret: SECRET }],
  })
  await fail(slug, ['job-1'])
  await expect.poll(async () => (await deliveriesOf(rule))[0]?.attempts, PATIENT).toBe(1)
  const [waiting] = await deliveriesOf(rule)
  const pauseS = (Date.parse(waiting.next_attempt_at) - Date.parse(waiting.last_attempt_at)) / 1000
  expect(pauseS).toBe(600)
  // As if it had been written a day ago.
  await door.sql`update notification_mails set created_at = created_at - interval '1 day' where id = ${waiting.id}`
  await door.sql`select graphile_worker.add_job('mail', ${JSON.stringify({ delivery: waiting.id })}::text::json)`
  await expect.poll(() => statesOf(rule), PATIENT).toEqual(['failed'])
  const again = await must(202, 'POST', `/api/rules/${rule.id}/deliveries/${waiting.id}/send`)
  expect(again).toMatchObject({ id: waiting.id, state: 'waiting' })
  await expect.poll(() => statesOf(rule), PATIENT).toEqual(['sent'])
  expect((await deliveriesOf(rule))[0]).toMatchObject({ attempts: 3, status: 204, next_attempt_at: null })
  expect(new Set(receiver.at(path).map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  const other = await ruleWith({ trigger: 'batch_done' })
  await must(404, 'POST', `/api/rules/${other.rule.id}/deliveries/${waiting.id}/send`)
})

test('redirects are not followed, 410 ends the attempts, and an unreachable receiver waits', async () => {
  const moved = { status: 302, headers: { Location: '/elsewhere' } }
  receiver.answers.set('/moved', Array(9).fill(moved))
  receiver.answers.set('/gone', [{ status: 410 }])
  const { rule } = await ruleWith({
    channels: [
      { kind: 'webhook', url: `${receiver.url}/moved` },
      { kind: 'webhook', url: `${receiver.url}/gone` },
      { kind: 'webhook', url: 'http://127.0.0.1:9/closed' },
    ],
  })
  const made = rule.channels.map((one: Body) => one.secret)
  expect(made.every((one: string) => /^whsec_[A-Za-z0-9+/]{43}=$/.test(one))).toBe(true)
  await must(202, 'POST', `/api/rules/${rule.id}/test`)
  await expect
    .poll(async () => {
      const items: Body[] = await deliveriesOf(rule)
      return items
        .map(({ target, state, attempts, test: isTest }) => [
          target.split('/').at(-1),
          state,
          attempts > 0,
          isTest,
        ])
        .sort()
    }, PATIENT)
    .toEqual([
      ['closed', 'waiting', true, true],
      ['gone', 'refused', true, true],
      ['moved', 'waiting', true, true],
    ])
  expect(receiver.at('/elsewhere')).toEqual([])
  expect(isSigned(receiver.at('/gone')[0]!, made[1])).toBe(true)
  expect(receiver.at('/gone')[0]!.body.type).toBe('test')
  // A channel that was removed, and a disabled rule, stop what waits.
  await must(200, 'PATCH', `/api/rules/${rule.id}`, { channels: [{ kind: 'mail' }] })
  await expect
    .poll(async () => (await statesOf(rule)).sort(), PATIENT)
    .toEqual(['cancelled', 'cancelled', 'refused'])
  for (const { id } of await deliveriesOf(rule))
    await must(409, 'POST', `/api/rules/${rule.id}/deliveries/${id}/send`)
})

test('an alert of a run reaches the channels of its rule', async () => {
  const { slug, rule } = await ruleWith({
    trigger: 'alert',
    channels: [{ kind: 'slack', url: `${receiver.url}/alerts` }],
  })
  const data = { line: 'loss is high', level: 'warning', alert: { title: 'loss', text: 'is <b>high</b>' } }
  const event = makeEvent('log_line', { batch_id: `${slug} run`, source: { project: slug }, data })
  await door.sendAll([event])
  await expect.poll(() => statesOf(rule), PATIENT).toEqual(['sent'])
  expect(JSON.stringify(receiver.at('/alerts')[0]!.body)).toContain('is <b>high</b>')
})

test('a kept channel keeps its secrets, and a token is not sent to another host', async () => {
  const { rule } = await ruleWith({
    channels: [
      { kind: 'webhook', url: `${receiver.url}/a`, secret: SECRET },
      { kind: 'ntfy', url: `${receiver.url}/topic`, token: 'tk_one' },
    ],
  })
  const [hook, ntfy] = rule.channels
  const changed = await must(200, 'PATCH', `/api/rules/${rule.id}`, {
    channels: [
      { id: ntfy.id, kind: 'ntfy', url: 'http://localhost:1/topic' },
      { id: hook.id, kind: 'webhook', url: `${receiver.url}/b` },
    ],
  })
  expect(changed.channels.map((one: Body) => [one.id, one.has_secret])).toEqual([
    [ntfy.id, false],
    [hook.id, true],
  ])
  expect(changed.channels[1].secret).toBeUndefined()
  await must(202, 'POST', `/api/rules/${rule.id}/test`)
  await expect.poll(() => receiver.at('/b').length, PATIENT).toBe(1)
  expect(isSigned(receiver.at('/b')[0]!, SECRET)).toBe(true)
})

test('channels that cannot work are refused by name', async () => {
  const { slug } = await ruleWith({})
  const refuse = async (channels: unknown, path: string) => {
    const body = { trigger: 'batch_done', channels }
    const answer = await must(422, 'POST', `/api/projects/${slug}/rules`, body)
    expect(answer.errors.map((one: { path: string }) => one.path)).toContain(path)
  }
  const url = 'https://example.org/x'
  await refuse([{ kind: 'webhook' }], 'channels.0.url')
  await refuse([{ kind: 'mail' }, { kind: 'webhook', url: 'ftp://example.org' }], 'channels.1.url')
  await refuse([{ kind: 'webhook', url, secret: 'short' }], 'channels.0.secret')
  await refuse([{ kind: 'webhook', url: 'https://a:b@example.org/' }], 'channels.0.url')
  await refuse([{ kind: 'ntfy', url: 'https://example.org/' }], 'channels.0.topic')
  await refuse([{ kind: 'slack', url, id: rule0() }], 'channels.0.id')
  await refuse([], 'channels')
  const both = {
    trigger: 'batch_done',
    recipients: ['a@example.org'],
    channels: [{ kind: 'mail', recipients: [] }],
  }
  expect((await must(422, 'POST', `/api/projects/${slug}/rules`, both)).errors[0].path).toBe('recipients')
})

const rule0 = () => '00000000-0000-4000-8000-000000000000'

// Last, because it moves the clock, and signatures must be fresh.
test('messages to one channel keep their order; over the hourly budget one digest has the rest', async () => {
  const path = '/many'
  const { slug, rule } = await ruleWith({
    channels: [{ kind: 'webhook', url: receiver.url + path, secret: SECRET }],
  })
  const jobs = Array.from({ length: 7 }, (_, n) => `job-${n}`)
  await fail(slug, jobs)
  const order = () => receiver.at(path).map(({ body }) => body.data.jobs?.[0].id ?? body.type)
  await expect.poll(order, PATIENT).toEqual(jobs.slice(0, 4))
  const held = () => door.sql`select from mail_held where state = 'waiting'`
  await expect.poll(async () => (await held()).length, PATIENT).toBe(3)
  clock.forward({ hours: 1 })
  await door.app.runTask('mail_digests')
  await door.app.runTask('mail_digests')
  await expect.poll(order, PATIENT).toEqual([...jobs.slice(0, 4), 'digest'])
  expect(receiver.at(path)[4]!.body.data).toMatchObject({
    held_back: 3,
    entries: Array(3)
      .fill({ project: slug })
      .map((one) => expect.objectContaining(one)),
  })
  await expect.poll(() => statesOf(rule), PATIENT).toEqual(Array(5).fill('sent'))
})
