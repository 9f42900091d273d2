import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { PASSWORD } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { type OpenStream, openStream, type StreamOptions } from './stream.ts'

/** What permitted a stream has ended: so does the stream, within 5 s (contract §4, §6). Others go on. */
const WITHIN_MS = 5_000
const clock = createClock()
let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, { now: clock.now })
})
afterAll(() => stage?.stop())

const open = async (channels: string[], options: StreamOptions): Promise<OpenStream> => {
  const stream = await openStream(stage.app.address, channels, options)
  expect(stream.status).toBe(200)
  return stream
}
const call = async (method: string, path: string, token: string, body?: unknown) => {
  const answer = await stage.app.call(method, path, { token, ...(body === undefined ? {} : { body }) })
  expect(answer.status, `${method} ${path}`).toBeLessThan(300)
  return answer.body
}

/** Fails unless the stream ends in time. */
async function expectEnd(stream: OpenStream): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('still open'), WITHIN_MS)
  })
  expect(await Promise.race([stream.ended.then(() => 'ended'), late])).toBe('ended')
  clearTimeout(timer)
}

let n = 0
async function beginBatch(project = 'vision'): Promise<string> {
  const id = `revoked-${++n}`
  await stage.send(stage.batchOwner, [startOf({ id, project })])
  return id
}
async function signIn(email: string): Promise<{ token: string; cookie: string }> {
  const { body, headers } = await stage.app.call('POST', '/api/auth/login', {
    body: { email, password: PASSWORD },
  })
  return {
    token: body.token,
    cookie: (headers['set-cookie'] ?? []).map((c) => c.split(';', 1)[0]).join('; '),
  }
}
const newPerson = async () => {
  const { email } = await stage.app.register(`revoked-${++n}@example.org`)
  return { email, ...(await signIn(email)) }
}

/** Each way to lose a stream, and a stream beside it that must stay. */
test.concurrent('signing out ends only the streams of that session, opened by its token and by its cookie', async () => {
  const { email, token, cookie } = await newPerson()
  const other = await signIn(email)
  const lost = [await open(['dashboard'], { token }), await open(['dashboard'], { cookie })]
  const stays = await open(['dashboard'], { token: other.token })
  await call('POST', '/api/auth/logout', token)
  await Promise.all(lost.map(expectEnd))
  expect((await stage.app.call('GET', '/api/sse?channels=dashboard', { token })).status).toBe(401)
  await expectOpen(stays)
})

test.concurrent('a revoked token ends its streams', async () => {
  const { token } = await newPerson()
  const made = await call('POST', '/api/tokens', token, { name: 'read', scope: 'read' })
  const stream = await open(['dashboard'], { token: made.token })
  const stays = await open(['dashboard'], { token })
  await call('DELETE', `/api/tokens/${made.id}`, token)
  await expectEnd(stream)
  await expectOpen(stays)
})

test.concurrent('a disabled account and a changed role end the streams of their user', async () => {
  const [gone, promoted] = [await newPerson(), await newPerson()]
  const streams = [await open(['dashboard'], gone), await open(['dashboard'], promoted)]
  const { items } = await call('GET', '/api/admin/users?limit=500', stage.admin.token)
  const idOf = (email: string) => items.find((user: { email: string }) => user.email === email).id
  await call('PATCH', `/api/admin/users/${idOf(gone.email)}`, stage.admin.token, { disabled: true })
  await call('PATCH', `/api/admin/users/${idOf(promoted.email)}`, stage.admin.token, { role: 'admin' })
  await Promise.all(streams.map(expectEnd))
})

test.concurrent('a revoked share ends its streams, another share of the batch goes on', async () => {
  const id = await beginBatch()
  const share = () => call('POST', `/api/batches/${id}/shares`, stage.batchOwner.token)
  const [revoked, kept] = [await share(), await share()]
  const stream = await open([`share:${revoked.token}`], {})
  const stays = await open([`share:${kept.token}`], {})
  await call('DELETE', `/api/shares/${revoked.id}`, stage.batchOwner.token)
  await expectEnd(stream)
  await expectOpen(stays)
})

test.concurrent('a former member loses the channels of the project and of its batches', async () => {
  const slug = `team-${++n}`
  const { email, token } = await newPerson()
  await call('POST', '/api/projects', stage.owner.token, { slug })
  for (const person of [{ email, token }, stage.batchOwner])
    await stage.app.letIn(slug, stage.owner, person, 'member')
  const id = await beginBatch(slug)
  const lost = [
    await open([`project:${slug}`], { token }),
    await open([`logs:${id}`, 'dashboard'], { token }),
  ]
  const stays = [
    await open(['dashboard'], { token }),
    await open([`batch:${id}`], { token: stage.batchOwner.token }),
  ]
  const { items } = await call('GET', `/api/projects/${slug}/members`, stage.owner.token)
  const { user_id } = items.find((member: { email: string }) => member.email === email)
  await call('DELETE', `/api/projects/${slug}/members/${user_id}`, stage.owner.token)
  await Promise.all(lost.map(expectEnd))
  await Promise.all(stays.map(expectOpen))
})

test.concurrent('a project that becomes private ends the streams of visitors, not those of members', async () => {
  const slug = `shown-${++n}`
  await call('POST', '/api/projects', stage.owner.token, { slug, visibility: 'public' })
  const visitor = await open([`project:${slug}`], {})
  const member = await open([`project:${slug}`], { token: stage.owner.token })
  await call('PATCH', `/api/projects/${slug}`, stage.owner.token, { visibility: 'private' })
  await expectEnd(visitor)
  await member.find((message) => message.data.payload.project?.visibility === 'private')
  await expectOpen(member)
})

test.concurrent('a deleted batch ends its streams, after a message that it was deleted', async () => {
  const id = await beginBatch()
  const stream = await open([`batch:${id}`], { token: stage.viewer.token })
  await call('DELETE', `/api/batches/${id}`, stage.batchOwner.token)
  await stream.find((message) => typeof message.data.payload.batch?.deleted_at === 'string')
  await expectEnd(stream)
})

async function expectOpen(stream: OpenStream): Promise<void> {
  expect(await Promise.race([stream.ended.then(() => 'ended'), Promise.resolve('open')])).toBe('open')
  stream.cut()
}

test('a stream ends when its share or JWT expires, and after six hours', async () => {
  const { email, token, cookie } = await newPerson()
  clock.forward({ hours: 11, minutes: 50 })
  const later = await signIn(email)
  const id = await beginBatch()
  const expires_at = new Date(clock.now().getTime() + 15 * 60_000).toISOString()
  const shared = await call(
    'POST',
    `/api/batches/${id}/shares`,
    (await signIn(stage.batchOwner.email)).token,
    {
      expires_at,
    },
  )
  const ofJwt = await open(['dashboard'], { token })
  const ofShare = await open([`share:${shared.token}`], {})
  const ofCookie = await open(['dashboard'], { cookie })
  const ofLater = await open(['dashboard'], { token: later.token })
  clock.forward({ minutes: 20 })
  await Promise.all([ofJwt, ofShare].map(expectEnd))
  expect(await Promise.race([ofCookie.ended, ofLater.ended, Promise.resolve('open')])).toBe('open')
  clock.forward({ hours: 6 })
  await Promise.all([ofCookie, ofLater].map(expectEnd))
})
