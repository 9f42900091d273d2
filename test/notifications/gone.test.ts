import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, openDoor } from '../ingest/sending.ts'
import { ANY_MAIL, type Mailbox, mailSent, openMailbox } from './mailbox.ts'

// A rule that is deleted while its mail is being sent: no job remains, and nothing is logged as an error.

let box: Mailbox
let door: Door
beforeAll(async () => {
  box = await openMailbox()
  door = await openDoor({
    smtp: { url: box.url, from: 'monitor@example.org' },
    mail: ANY_MAIL,
    logLevel: 'info',
  })
  await call('POST', '/api/projects', { slug: 'vision' })
})
afterAll(async () => {
  await door?.stop()
  await box?.stop()
})

const call = (method: string, path: string, body?: unknown) =>
  door.app.call(method, path, { token: door.session, ...(body !== undefined && { body }) })
async function makeRule(): Promise<string> {
  const fields = { trigger: 'batch_done', recipients: ['a@example.org', 'b@example.org'] }
  const made = await call('POST', '/api/projects/vision/rules', fields)
  expect(made.status).toBe(201)
  return `/api/rules/${made.body.id}`
}
const marks = () => door.sql`select from notification_mails`
const troubles = (): string[] =>
  door.app
    .logged()
    .split('\n')
    .filter((line) => line !== '' && JSON.parse(line).level > 30 && /mail|task|job/i.test(line))

test('after the first mail was handed over: it is sent, the second is not', async () => {
  const rule = await makeRule()
  box.beforeAnswer = async () => {
    box.beforeAnswer = () => {}
    expect((await call('DELETE', rule)).status).toBe(204)
  }
  expect((await call('POST', `${rule}/test`)).status).toBe(202)
  await mailSent(door.sql)
  expect(box.received.map(({ to }) => to)).toEqual([['a@example.org']])
  expect(await marks()).toHaveLength(0)
  expect(troubles()).toEqual([])
})

test('before the first mail was handed over: none is sent', async () => {
  box.received.length = 0
  const rule = await makeRule()
  box.onRecipient = async () => {
    box.onRecipient = () => {}
    expect((await call('DELETE', rule)).status).toBe(204)
  }
  expect((await call('POST', `${rule}/test`)).status).toBe(202)
  await mailSent(door.sql)
  expect(box.received).toEqual([])
  expect(await marks()).toHaveLength(0)
  expect(troubles()).toEqual([])
})
