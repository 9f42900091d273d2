import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Person, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import { ANY_MAIL, type Mailbox, openMailbox } from './mailbox.ts'
import { openReceiver, type Receiver } from './receiver.ts'

// Rules of one person, and quiet hours (docs/notifications.md), with a real receiver and a real mail server.

const clock = createClock()
let box: Mailbox
let receiver: Receiver
let stage: Stage
beforeAll(async () => {
  ;[box, receiver] = await Promise.all([openMailbox(), openReceiver()])
  stage = await openStage(
    { smtp: { url: box.url, from: 'monitor@example.org' }, mail: ANY_MAIL, webhookPrivate: true },
    { now: clock.now },
  )
})
afterAll(async () => {
  await stage?.stop()
  await Promise.all([box?.stop(), receiver?.stop()])
})

const RULES = '/api/projects/vision/rules'
const PATIENT = { timeout: 20_000, interval: 50 }
const call = (person: Person, method: string, path: string, body?: unknown) =>
  stage.app.call(method, path, { token: person.token, body })
const hook = (path: string) => [{ kind: 'webhook', url: receiver.url + path }]
/** The batches that messages at a path are about, or their type. */
const about = (path: string): string[] =>
  receiver.at(path).map(({ body }) => body.data.batch?.id ?? body.type)
const mine = async (person: Person): Promise<{ name: string }[]> =>
  (await call(person, 'GET', `${RULES}?personal=true`)).body.items

async function make(person: Person, fields: Record<string, unknown>) {
  const body = { trigger: 'batch_done', cooldown_s: 0, personal: true, ...fields }
  const made = await call(person, 'POST', RULES, body)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}

/** A batch of the project that has ended. */
async function finish(person: Person, batch_id: string): Promise<void> {
  const common = { batch_id, job_id: null, source: { project: 'vision' } }
  await stage.send(person, [makeEvent('batch_start', common), makeEvent('batch_done', common)])
}

test('a rule of a person is seen, changed and deleted by that person alone', async () => {
  const rule = await make(stage.viewer, { name: 'for me', own_runs: true })
  expect(rule).toMatchObject({ personal: true, own_runs: true, recipients: null, unconfirmed: [] })
  expect((await mine(stage.viewer)).map(({ name }) => name)).toEqual(['for me'])
  for (const person of [stage.owner, stage.admin, stage.member]) {
    expect(await mine(person)).toEqual([])
    expect((await call(person, 'PATCH', `/api/rules/${rule.id}`, { name: 'theirs' })).status).toBe(404)
    for (const part of ['preview', 'deliveries', 'messages'])
      expect((await call(person, 'GET', `/api/rules/${rule.id}/${part}`)).status).toBe(404)
  }
  expect((await call(stage.owner, 'GET', RULES)).body.items).toEqual([])
  expect((await call(stage.stranger, 'POST', RULES, { trigger: 'alert', personal: true })).status).toBe(404)
  expect((await call(stage.viewer, 'GET', `/api/rules/${rule.id}/preview`)).body).toMatchObject({ fired: 0 })
  const changed = await call(stage.viewer, 'PATCH', `/api/rules/${rule.id}`, { own_runs: false })
  expect(changed.body).toMatchObject({ personal: true, own_runs: false })
  expect((await call(stage.viewer, 'DELETE', `/api/rules/${rule.id}`)).status).toBe(204)
})

test.each([
  [{ personal: true, recipients: ['other@example.org'] }, 'recipients'],
  [{ personal: true, channels: [{ kind: 'mail', recipients: ['other@example.org'] }] }, 'recipients'],
  [{ own_runs: true }, 'own_runs'],
  [{ quiet: { from: '22:00', to: '7', time_zone: 'UTC' } }, 'quiet.to'],
])('%o is refused', async (fields, path) => {
  const refused = await call(stage.owner, 'POST', RULES, { trigger: 'batch_done', ...fields })
  expect([refused.status, refused.body.errors[0].path]).toEqual([422, path])
})

test('it fires for runs of its person alone if told so, and only while the person sees the project', async () => {
  await make(stage.member, { channels: hook('/own'), own_runs: true })
  await make(stage.member, { channels: hook('/all') })
  await finish(stage.owner, 'of the owner')
  await finish(stage.member, 'of the member')
  await expect.poll(() => about('/all'), PATIENT).toEqual(['of the owner', 'of the member'])
  await expect.poll(() => about('/own'), PATIENT).toEqual(['of the member'])

  const members = '/api/projects/vision/members'
  expect((await call(stage.owner, 'DELETE', `${members}/${stage.member.id}`)).status).toBe(204)
  await finish(stage.owner, 'without the member')
  const firings = await stage.app.sql`select from notification_firings f join batches b on b.key = f.batch_key
    where b.id = 'without the member'`
  expect(firings).toEqual([])
  expect((await call(stage.member, 'GET', `${RULES}?personal=true`)).status).toBe(404)
})

test('in quiet hours messages wait, and a digest has them afterwards; a test is sent at once', async () => {
  const hour = (hours: number): string =>
    new Date(clock.now().getTime() + hours * 3_600_000).toISOString().slice(11, 16)
  const quiet = { from: hour(-1), to: hour(2), time_zone: 'UTC' }
  const rule = await make(stage.viewer, { channels: [{ kind: 'mail' }, ...hook('/quiet')], quiet })
  expect(rule.quiet).toEqual(quiet)
  expect((await call(stage.viewer, 'POST', `/api/rules/${rule.id}/test`)).status).toBe(202)
  const mails = (): number =>
    box.to(stage.viewer.email).filter(({ mail }) => !/confirm/i.test(mail.subject ?? '')).length
  await expect.poll(() => [about('/quiet'), mails()], PATIENT).toEqual([['test'], 1])
  await finish(stage.owner, 'in the night')
  const waiting = () => stage.app.sql`select from mail_held where state = 'waiting'`
  await expect.poll(async () => (await waiting()).length, PATIENT).toBe(2)
  clock.forward({ hours: 1 })
  await stage.app.runTask('mail_digests')
  expect([about('/quiet'), mails(), (await waiting()).length]).toEqual([['test'], 1, 2])
  clock.forward({ hours: 1, minutes: 1 })
  await stage.app.runTask('mail_digests')
  await expect.poll(() => [about('/quiet'), mails()], PATIENT).toEqual([['test', 'digest'], 2])
})

test('what waits for a digest is not sent to a person who no longer sees the project', async () => {
  const hour = (hours: number): string =>
    new Date(clock.now().getTime() + hours * 3_600_000).toISOString().slice(11, 16)
  const quiet = { from: hour(-1), to: hour(2), time_zone: 'UTC' }
  await make(stage.viewer, { channels: hook('/left'), quiet })
  await finish(stage.owner, 'before the viewer left')
  const waiting = () => stage.app
    .sql`select from mail_held h join notification_firings f on f.id = h.firing_id
    join batches b on b.key = f.batch_key where b.id = 'before the viewer left' and h.state = 'waiting'`
  await expect.poll(async () => (await waiting()).length, PATIENT).toBeGreaterThan(0)
  const left = await call(stage.owner, 'DELETE', `/api/projects/vision/members/${stage.viewer.id}`)
  expect(left.status).toBe(204)
  clock.forward({ hours: 2, minutes: 1 })
  await stage.app.runTask('mail_digests')
  const written = await stage.app.sql`select from notification_mails
    where target like '%/left' and message::text like '%before the viewer left%'`
  expect(written).toEqual([])
})
