import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { type Mailbox, mailSent, openMailbox } from '../notifications/mailbox.ts'

// One account must not flood others with mail: only confirmed addresses get it, a limited number an hour, the rest in a digest.

const clock = createClock()
let box: Mailbox
let door: Door
beforeAll(async () => {
  box = await openMailbox()
  door = await openDoor(
    {
      smtp: { url: box.url, from: 'Monitor <monitor@example.org>' },
      mail: { allowedDomains: ['lab.example'], perProject: 12, perRecipient: 5 },
      publicUrl: 'https://monitor.example.org',
      allowedHosts: ['*'],
      logLevel: 'debug',
    },
    { now: clock.now },
  )
})
afterAll(async () => {
  await door?.stop()
  await box?.stop()
})

async function must(status: number, method: string, path: string, body?: unknown) {
  const answer = await door.app.call(method, path, { token: door.session, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  return answer.body
}
const stateOf = async (project: string) =>
  Object.fromEntries(
    (await must(200, 'GET', `/api/projects/${project}/confirmations`)).items.map(
      (one: { email: string; state: string }) => [one.email, one.state],
    ),
  )
const asked = (address: string) => box.aboutAccounts.filter((one) => one.to.includes(address))
const linkIn = (text: string | undefined): string => {
  const link = /https:\/\/monitor\.example\.org(\/verify\/[\w-]{43})/.exec(text ?? '')?.[1]
  if (link === undefined) throw new Error(`no link in ${text}`)
  return link
}
async function fail(project: string, n: number): Promise<void> {
  const events = Array.from({ length: n }, () =>
    makeEvent('batch_failed', { batch_id: `${project} run ${Math.random()}`, source: { project } }),
  )
  expect((await door.sendAll(events)).status).toBe(200)
  await mailSent(door.sql)
}
const addRule = (project: string, fields: object = {}) =>
  must(201, 'POST', `/api/projects/${project}/rules`, { trigger: 'batch_failed', cooldown_s: 0, ...fields })

test('with ten rules, sixty addresses and ten events an unconfirmed address gets only one confirmation link', async () => {
  await must(201, 'POST', '/api/projects', { slug: 'bomb' })
  const victims = Array.from({ length: 60 }, (_, i) => `victim${i}@example.net`)
  const set = await must(200, 'PUT', '/api/projects/bomb/recipients', { emails: victims })
  expect(set.unconfirmed).toEqual(victims)
  for (let i = 0; i < 10; i++) await addRule('bomb')
  await fail('bomb', 10)
  expect(box.received).toEqual([])
  const perVictim = victims.map((victim) => asked(victim).length)
  expect(Math.max(...perVictim)).toBe(1)
  // One account may have fifty addresses asked in an hour.
  expect(perVictim.reduce((a, b) => a + b, 0)).toBe(50)
})

test('a rule without its own cooldown sends at most one mail in ten minutes', async () => {
  await must(201, 'POST', '/api/projects', { slug: 'calm' })
  const rule = await must(201, 'POST', '/api/projects/calm/rules', { trigger: 'batch_failed' })
  expect(rule.cooldown_s).toBe(600)
})

test('an address gets mail once its owner has used the link, which works once, and a GET confirms nothing', async () => {
  clock.forward({ hours: 1 })
  await signIn()
  await must(201, 'POST', '/api/projects', { slug: 'one' })
  await must(200, 'PUT', '/api/projects/one/recipients', { emails: ['owner@example.net'] })
  await addRule('one')
  await fail('one', 1)
  const [mail] = asked('owner@example.net')
  const link = linkIn(mail?.mail.text)
  expect(mail?.mail.html).toContain(link)
  const look = await door.app.call('GET', link, { headers: { accept: 'text/html' } })
  expect([look.status, look.body.includes('owner@example.net')]).toEqual([200, true])
  expect(await stateOf('one')).toEqual({ 'owner@example.net': 'unconfirmed' })
  await fail('one', 1)
  expect(box.to('owner@example.net')).toEqual([])

  const confirmed = await door.app.call('POST', link, { headers: { accept: 'text/html' } })
  expect([confirmed.status, confirmed.body.includes('Address confirmed')]).toEqual([200, true])
  expect(await stateOf('one')).toEqual({ 'owner@example.net': 'confirmed' })
  await fail('one', 1)
  expect(box.to('owner@example.net')).toHaveLength(1)
  const again = await door.app.call('POST', link)
  expect([again.status, again.body.code]).toEqual([404, 'confirmation_not_found'])
})

test('a link expires after seven days, and its token is in no row and no log line', async () => {
  await must(201, 'POST', '/api/projects', { slug: 'late' })
  await must(200, 'PUT', '/api/projects/late/recipients', { emails: ['late@example.net'] })
  await mailSent(door.sql)
  const link = linkIn(asked('late@example.net')[0]?.mail.text)
  const token = link.split('/').at(-1) as string
  const rows = await door.sql`select * from address_confirmations`
  expect(JSON.stringify(rows)).not.toContain(token)
  expect(rows.every((row) => row.token_hash === null || row.token_hash.length === 32)).toBe(true)
  clock.forward({ days: 7, seconds: 1 })
  await signIn()
  expect((await door.app.call('POST', link)).body.code).toBe('confirmation_not_found')
  expect((await door.app.call('GET', link, { headers: { accept: 'text/html' } })).status).toBe(404)
  expect(door.app.logged()).not.toContain(token)
})

test('requesting the link again is limited: once a minute, and three times a day', async () => {
  const again = () =>
    door.app.call('POST', '/api/projects/late/confirmations', {
      token: door.session,
      body: { email: 'late@example.net' },
    })
  for (let n = 0; n < 3; n++) {
    expect((await again()).status).toBe(202)
    const soon = await again()
    expect([soon.status, Number(soon.headers['retry-after']) > 0]).toEqual([429, true])
    clock.forward({ minutes: 2 })
  }
  expect((await again()).status).toBe(429)
  await mailSent(door.sql)
  expect(asked('late@example.net')).toHaveLength(4)
  const foreign = await door.app.call('POST', '/api/projects/late/confirmations', {
    token: door.session,
    body: { email: 'elsewhere@example.net' },
  })
  expect([foreign.status, foreign.body.code]).toEqual([404, 'address_not_found'])
})

test('an allowed domain needs no confirmation, and its subdomains do', async () => {
  await must(201, 'POST', '/api/projects', { slug: 'lab' })
  const { unconfirmed } = await must(200, 'PUT', '/api/projects/lab/recipients', {
    emails: ['team@LAB.example', 'team@sub.lab.example'],
  })
  expect(unconfirmed).toEqual(['team@sub.lab.example'])
})

test('a recipient gets a limited number of mails an hour, and the rest in one digest in the next hour', async () => {
  await must(201, 'POST', '/api/projects', { slug: 'loud' })
  await must(200, 'PUT', '/api/projects/loud/recipients', { emails: ['loud@lab.example'] })
  await addRule('loud')
  box.received.length = 0
  await fail('loud', 9)
  expect(box.to('loud@lab.example')).toHaveLength(5)
  await door.app.runTask('mail_digests')
  expect(box.to('loud@lab.example')).toHaveLength(5)
  clock.forward({ hours: 1 })
  await door.app.runTask('mail_digests')
  await door.app.runTask('mail_digests')
  const digests = box.to('loud@lab.example').slice(5)
  expect(digests.map((one) => one.mail.subject)).toEqual(['4 notifications were held back'])
  expect(digests[0]?.mail.text?.match(/\[loud\]/g)).toHaveLength(4)
  expect(digests[0]?.mail.html).toContain('/mail/')
})

test('a project has a limit of mails an hour for any number of recipients', async () => {
  clock.forward({ hours: 1 })
  await must(201, 'POST', '/api/projects', { slug: 'wide' })
  const emails = Array.from({ length: 10 }, (_, i) => `reader${i}@lab.example`)
  await must(200, 'PUT', '/api/projects/wide/recipients', { emails })
  await addRule('wide')
  box.received.length = 0
  await fail('wide', 3)
  expect(box.received).toHaveLength(12)
})

test('a user who unsubscribes from all mail gets none of any project, until they subscribe again', async () => {
  clock.forward({ hours: 1 })
  await must(201, 'POST', '/api/projects', { slug: 'first' })
  await must(201, 'POST', '/api/projects', { slug: 'second' })
  for (const slug of ['first', 'second']) {
    await must(200, 'PUT', `/api/projects/${slug}/recipients`, { emails: ['tired@lab.example'] })
    await addRule(slug)
  }
  await fail('first', 1)
  const foot = /\/mail\/[\w-]{32}/.exec(box.to('tired@lab.example')[0]?.mail.text ?? '')?.[0] as string
  expect((await door.app.call('POST', foot, { body: { action: 'service' } })).status).toBe(200)
  await fail('second', 1)
  expect(box.to('tired@lab.example')).toHaveLength(1)
  expect(await stateOf('second')).toEqual({ 'tired@lab.example': 'stopped' })
  await door.app.call('POST', foot, { body: { action: 'resume' } })
  await fail('second', 1)
  expect(box.to('tired@lab.example')).toHaveLength(2)
})

/** The clock outran the session. */
async function signIn(): Promise<void> {
  const body = { email: 'person1@example.org', password: PASSWORD }
  door.session = (await door.app.call('POST', '/api/auth/login', { body })).body.token
}
