import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { ANY_MAIL, type Mailbox, mailSent, openMailbox, subjects } from './mailbox.ts'

// Contents and recipients of mail (contract §7). That each is sent once is in once.slow.test.ts.

const HOME = 'https://monitor.example.org'
let box: Mailbox
let door: Door
let projects = 0
let project: string

beforeAll(async () => {
  box = await openMailbox()
  door = await openDoor({
    smtp: { url: box.url, from: 'Monitor <monitor@example.org>' },
    mail: ANY_MAIL,
    publicUrl: HOME,
    allowedHosts: ['*'],
  })
})
afterAll(async () => {
  await door?.stop()
  await box?.stop()
})
beforeEach(async () => {
  project = `project-${++projects}`
  box.received.length = 0
  await must(201, 'POST', '/api/projects', { slug: project })
  await must(200, 'PUT', `/api/projects/${project}/recipients`, { emails: ['team@example.org'] })
})

async function must(status: number, method: string, path: string, body?: unknown) {
  const answer = await door.app.call(method, path, { token: door.session, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  return answer.body
}

const makeRule = (fields: Record<string, unknown>) =>
  must(201, 'POST', `/api/projects/${project}/rules`, { name: 'watch', cooldown_s: 0, ...fields })

/** Events of this test's project, in a batch of its own name. */
const event = (type: Parameters<typeof makeEvent>[0], fields: Parameters<typeof makeEvent>[1] = {}) =>
  makeEvent(type, { batch_id: `${project} run`, source: { project }, ...fields })

async function send(...events: unknown[]): Promise<void> {
  const { status, body } = await door.sendAll(events)
  expect(status).toBe(200)
  expect(body.results.filter((result: { error?: unknown }) => result.error !== undefined)).toEqual([])
  await mailSent(door.sql)
}

test('the end of a batch sends mail with its jobs, last losses, elapsed time and a link to its page', async () => {
  await makeRule({ trigger: 'batch_done', name: 'finished' })
  await send(
    event('batch_start', { data: { n_total: 2 } }),
    event('job_start'),
    event('job_epoch', { data: { epoch: 3, train_loss: 0.25, val_loss: 0.5, acc: 0.9 } }),
    event('job_done', { data: { elapsed_s: 12 } }),
    event('batch_done', { data: { n_done: 1, n_failed: 1, total_elapsed_s: 3725 } }),
  )
  const [one, ...more] = box.received
  expect(more).toEqual([])
  expect(one?.to).toEqual(['team@example.org'])
  expect(one?.from).toBe('monitor@example.org')
  expect(one?.mail.from).toEqual({ name: 'Monitor', address: 'monitor@example.org' })
  expect(one?.mail.subject).toBe(`[${project}] ${project} run: completed`)
  const link = `${HOME}/b/${encodeURIComponent(`${project} run`)}`
  for (const part of [one?.mail.text, one?.mail.html]) {
    expect(part).toContain('1 done, 1 failed of 2')
    expect(part).toContain('train_loss 0.25 (epoch 3), val_loss 0.5 (epoch 3)')
    expect(part).toContain('1 h 2 min')
    expect(part).toContain(link)
  }
  expect(one?.mail.html).toContain(`<a href="${link}">`)
  // The chart of these losses is in the mail itself.
  expect(one?.mail.attachments).toMatchObject([{ mimeType: 'image/png', contentId: '<chart@svc>' }])
  expect(one?.mail.html).toContain('<img src="cid:chart@svc" alt="train_loss, val_loss of ')
})

test('a rule without a name is described in words in mail and on the unsubscribe page', async () => {
  await makeRule({ trigger: 'batch_done', name: undefined })
  await send(
    event('batch_start'),
    event('batch_done', { data: { n_done: 1, n_failed: 0, total_elapsed_s: 5 } }),
  )
  const [one] = box.received
  expect(one?.mail.text).toContain(`A rule of the project ${project} sends this.`)
  const link = /https:\/\/monitor\.example\.org(\/mail\/\S+)/.exec(one?.mail.text ?? '')?.[1] as string
  const page = await door.app.call('GET', link)
  expect(String(page.body)).toContain('No more mail of this rule')
  expect(`${one?.mail.text} ${page.body}`).not.toContain('batch_done')
})

test('a failed batch and a failed job send mail with their reasons; after a stop request they do not', async () => {
  await makeRule({ trigger: 'batch_failed' })
  await makeRule({ trigger: 'job_failed' })
  await send(
    event('batch_start'),
    event('job_failed', { job_id: 'seed1', data: { reason: 'CUDA out of memory\n  at line 3' } }),
    event('job_failed', { job_id: 'seed2', data: { reason: 'stop_requested' } }),
    event('batch_failed', { data: { reason: 'one job failed' } }),
    event('batch_start', { batch_id: `${project} stopped` }),
    event('batch_failed', { batch_id: `${project} stopped`, data: { reason: 'stop_requested' } }),
  )
  expect(subjects(box.received).sort()).toEqual([
    `[${project}] ${project} run: failed`,
    `[${project}] ${project} run: job seed1 failed`,
  ])
  const ofJob = box.received.find((one) => one.mail.subject?.includes('seed1'))
  expect(ofJob?.mail.text).toContain('Reason: CUDA out of memory\n  at line 3')
  const ofBatch = box.received.find((one) => !one.mail.subject?.includes('seed1'))
  expect(ofBatch?.mail.text).toContain('Reason: one job failed')
})

test('a batch that fails after a stop request sends no mail, with any reason', async () => {
  await makeRule({ trigger: 'batch_failed' })
  await send(event('batch_start'))
  await must(200, 'POST', `/api/batches/${encodeURIComponent(`${project} run`)}/stop`)
  await send(event('batch_failed', { data: { reason: 'KeyboardInterrupt' } }))
  expect(box.received).toEqual([])
})

test('a metric rule sends one mail with the value when its condition becomes true, once per period', async () => {
  await makeRule({ trigger: 'metric', condition: { key: 'val_loss', op: 'is_nan' } })
  await makeRule({ trigger: 'metric', condition: { key: 'acc', op: '>=', value: 0.9 } })
  const values: [number | 'NaN', number][] = [
    [1, 0.5],
    ['NaN', 0.95],
    ['NaN', 0.97],
    [2, 0.5],
    ['NaN', 0.99],
  ]
  await send(
    ...values.map(([val_loss, acc], epoch) => event('job_epoch', { data: { epoch, val_loss, acc } })),
  )
  const said = `[${project}] ${project} run: job job-1: `
  expect(subjects(box.received).sort()).toEqual([
    `${said}acc >= 0.9`,
    `${said}acc >= 0.9`,
    `${said}val_loss is NaN`,
    `${said}val_loss is NaN`,
  ])
  expect(box.received.map((one) => /Value: (.*)/.exec(one.mail.text ?? '')?.[1]).sort()).toEqual([
    'acc = 0.95 at epoch 1',
    'acc = 0.99 at epoch 4',
    'val_loss = NaN at epoch 1',
    'val_loss = NaN at epoch 4',
  ])
})

test('names from events and users cannot inject a header, a line or an HTML element', async () => {
  const nasty = '<img src=x onerror=alert(1)>"&\u202eevil\u2028Bcc: everybody@example.org'
  await makeRule({ trigger: 'job_failed', name: '“<b>rule</b>”' })
  const batch_id = `${nasty} 😀 ${project}`
  await send(
    event('job_failed', {
      batch_id,
      job_id: 'job <script>1</script>',
      data: {
        reason: `</td><script>alert(1)</script>\r\nBcc: everybody@example.org\r\n\r\n.\r\nQUIT\r\n${'x'.repeat(9_000)}`,
      },
    }),
  )
  const [one, ...more] = box.received
  expect(more).toEqual([])
  expect(one?.to).toEqual(['team@example.org'])
  expect(one?.mail.bcc ?? []).toEqual([])
  expect(one?.mail.headers.filter((header) => /^(bcc|cc)$/i.test(header.key))).toEqual([])
  expect(one?.mail.subject).toBe(
    `[${project}] <img src=x onerror=alert(1)>"&evil Bcc: everybody@example.org 😀 ${project}: job job <script>1</script> failed`,
  )
  expect(one?.mail.html?.match(/<(script|img|b)\b/i)).toBe(null)
  expect(one?.mail.html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(one?.mail.text).toContain('\nBcc: everybody@example.org\n')
  expect(one?.mail.text?.length).toBeLessThan(6_000)
  for (const line of one?.bytes.toString('latin1').split('\r\n') ?? [])
    expect(line.length).toBeLessThanOrEqual(998)
})

test('a test mail goes to the recipients of the rule, is marked as a test, and is not counted', async () => {
  const rule = await makeRule({
    trigger: 'batch_failed',
    name: 'night watch',
    recipients: ['NIGHT@example.org', 'night@example.org', 'day@example.org'],
    cooldown_s: 3600,
    enabled: false,
  })
  expect(await must(202, 'POST', `/api/rules/${rule.id}/test`)).toEqual({
    queued: true,
    mail: { configured: true },
  })
  await mailSent(door.sql)
  expect(box.received.map((one) => one.to)).toEqual([['day@example.org'], ['night@example.org']])
  expect(subjects(box.received)).toEqual(Array(2).fill(`[${project}] night watch: test mail`))
  await must(200, 'PATCH', `/api/rules/${rule.id}`, { enabled: true })
  await send(event('batch_failed'))
  expect(box.to('night@example.org').length).toBe(2)
})

test('mail goes to the recipients of the rule, else of the project, else to its owner', async () => {
  await makeRule({ trigger: 'batch_done', recipients: ['own@example.org'] })
  await makeRule({ trigger: 'batch_done' })
  await send(event('batch_done'))
  expect(box.received.map((one) => one.to[0]).sort()).toEqual(['own@example.org', 'team@example.org'])
  await must(200, 'PUT', `/api/projects/${project}/recipients`, { emails: [] })
  box.received.length = 0
  await send(event('batch_done'))
  const me = await must(200, 'GET', '/api/auth/me')
  expect(box.received.map((one) => one.to[0]).sort()).toEqual(['own@example.org', me.user.email])
})

test('a user who was removed from a private project, or is disabled, gets no mail about it', async () => {
  const person = await door.app.register(`gone-${project}@example.org`)
  const emails = [person.email, 'outside@example.org']
  await door.app.letIn(project, { token: door.session }, person, 'viewer')
  await makeRule({ trigger: 'batch_done', recipients: emails })
  await send(event('batch_done'))
  expect(box.received.map((one) => one.to[0])).toEqual([person.email, 'outside@example.org'])
  await must(204, 'DELETE', `/api/projects/${project}/members/${person.user.id}`)
  await send(event('batch_done'))
  expect(box.to(person.email).length).toBe(1)
  expect(box.to('outside@example.org').length).toBe(2)
  await must(200, 'PATCH', `/api/projects/${project}`, { visibility: 'public' })
  await must(200, 'PATCH', `/api/admin/users/${person.user.id}`, { disabled: true })
  await send(event('batch_done'))
  expect(box.to(person.email).length).toBe(1)
})

test('a deleted batch, a muted batch, a muted rule and a deleted rule send no mail', async () => {
  const rule = await makeRule({ trigger: 'job_failed' })
  const other = await makeRule({ trigger: 'batch_done' })
  const path = `/api/batches/${encodeURIComponent(`${project} run`)}`
  await send(event('batch_start'))
  expect(await must(200, 'PUT', `${path}/mute`, { muted: true })).toEqual({ muted: true })
  expect(await must(200, 'GET', `${path}/mute`)).toEqual({ muted: true })
  await send(event('job_failed'))
  expect(await must(200, 'PUT', `${path}/mute`, { muted: false })).toEqual({ muted: false })
  expect(box.received).toEqual([])
  await send(event('job_failed'))
  expect(box.received.length).toBe(1)
  await must(204, 'DELETE', path)
  await send(event('job_failed'), event('batch_done'))
  expect(box.received.length).toBe(1)
  await must(200, 'POST', `${path}/restore`)
  await must(200, 'PATCH', `/api/rules/${rule.id}`, { enabled: false })
  await must(204, 'DELETE', `/api/rules/${other.id}`)
  await send(event('job_failed'), event('batch_done'))
  expect(box.received.length).toBe(1)
  await must(404, 'DELETE', `/api/rules/${other.id}`)
})

test('a mail has its unsubscribe address in the List-Unsubscribe headers', async () => {
  await makeRule({ trigger: 'batch_done' })
  await send(event('batch_done'))
  const header = (key: string) => box.received[0]?.mail.headers.find((one) => one.key === key)?.value
  expect(header('list-unsubscribe')).toMatch(
    /^<https:\/\/monitor\.example\.org\/mail\/[\w-]{32}\?rule=[0-9a-f-]{36}>$/,
  )
  expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  expect(header('auto-submitted')).toBe('auto-generated')
})

test('unsubscribing needs no sign-in: a GET changes nothing, one click stops a rule, a button a batch or the project', async () => {
  const rule = await makeRule({ trigger: 'job_failed', recipients: ['a@example.org', 'b@example.org'] })
  await send(event('job_failed'))
  const link = /https:\/\/monitor\.example\.org(\/mail\/\S+)/.exec(
    box.to('a@example.org')[0]?.mail.text ?? '',
  )?.[1] as string
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    door.app.call('POST', path, {
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  const counts = () => [box.to('a@example.org').length, box.to('b@example.org').length]

  const page = await door.app.call('GET', link)
  expect(page.status).toBe(200)
  expect(page.headers['content-security-policy']).toContain("form-action 'self'")
  expect(page.body).toContain('No more mail of the rule')
  expect(page.body).not.toMatch(/<script|style="|onclick/)
  await send(event('job_failed'))
  expect(counts()).toEqual([2, 2])

  // As a mail program does it, and with another user's cookie that a browser might add.
  const { cookie } = await door.app.register()
  expect((await post(link, 'List-Unsubscribe=One-Click', { cookie, origin: 'null' })).status).toBe(200)
  expect((await post(link, 'List-Unsubscribe=One-Click')).status).toBe(200)
  await send(event('job_failed'))
  expect(counts()).toEqual([2, 3])

  expect((await post(link, 'action=resume')).status).toBe(200)
  expect((await post(link, 'action=batch')).status).toBe(200)
  await send(event('job_failed'), event('job_failed', { batch_id: `${project} other` }))
  expect(counts()).toEqual([3, 5])

  expect((await post(link, 'action=resume')).body).not.toContain('any more')
  const ended = await post(link, 'action=project')
  expect(ended.body).toContain(`You get no mail of the project ${project} any more.`)
  await send(event('job_failed', { batch_id: `${project} third` }))
  expect(counts()).toEqual([3, 6])

  const multipart =
    '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
  expect((await post(link, multipart, { 'content-type': 'multipart/form-data; boundary=x' })).status).toBe(
    200,
  )
  expect((await post(link, 'action=everything')).status).toBe(422)
  expect((await post(link, '')).status).toBe(422)
  const [path] = link.split('?') as [string]
  for (const wrong of [`/mail/${'x'.repeat(32)}?rule=${rule.id}`, '/mail/x', `/mail/%00?rule=${rule.id}`]) {
    expect((await post(wrong, 'action=project')).status).toBe(404)
  }
  expect((await post(`${path}?rule=${project}&batch=%00`, 'action=batch')).status).toBe(404)
})

test('the password of the mail server is taken from its address, and is in no log', async () => {
  const password = 'p@ss:word/of the server'
  const guarded = await openMailbox({ password })
  const url = guarded.url.replace('//', `//monitor:${encodeURIComponent(password)}@`)
  const own = await openDoor({
    smtp: { url, from: 'monitor@example.org' },
    mail: ANY_MAIL,
    logLevel: 'debug',
  })
  try {
    await own.send(makeEvent('batch_start'))
    const made = await own.app.call('POST', '/api/projects/vision/rules', {
      token: own.session,
      body: { trigger: 'batch_done', recipients: ['team@example.org'] },
    })
    expect(made.status).toBe(201)
    await own.send(makeEvent('batch_done'))
    await mailSent(own.sql)
    expect(guarded.received.length).toBe(1)
    expect(own.app.logged()).not.toContain(password)
    expect(own.app.logged()).not.toContain(encodeURIComponent(password))
  } finally {
    await own.stop()
    await guarded.stop()
  }
})
