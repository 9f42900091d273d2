import { afterAll, beforeAll, expect, test } from 'vitest'
import { enc, openStage, type Person, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStream } from '../live/stream.ts'

/** A link works only while the person who made it may still share what it opens. */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const call = (method: string, path: string, token?: string, body?: unknown) =>
  stage.app.call(method, path, {
    ...(token !== undefined && { token }),
    ...(body !== undefined && { body }),
  })
const WITHIN_MS = 15_000
const within = async (done: Promise<unknown>): Promise<string> => {
  const late = new Promise<string>((resolve) => setTimeout(resolve, WITHIN_MS, 'still open').unref())
  return Promise.race([done.then(() => 'ended'), late])
}

let n = 0
/** A batch of a new project of the owner, by this member, with a link to it and one to a report that embeds it. */
async function shared(by: Person, role: 'member' | 'viewer' = 'member') {
  const slug = `team-${++n}`
  expect((await call('POST', '/api/projects', stage.owner.token, { slug })).status).toBe(201)
  if (by !== stage.owner) await stage.app.letIn(slug, stage.owner, by, role)
  const id = `shared-${n}`
  await stage.send(by, [startOf({ id, project: slug })])
  const share = (await call('POST', `/api/batches/${id}/shares`, by.token)).body
  const text = { project: slug, title: `Report ${n}`, body: `@batch("${id}")` }
  const report = (await call('POST', '/api/reports', by.token, text)).body
  const link = (await call('POST', `/api/reports/${report.id}/links`, by.token)).body
  expect(link.batches).toEqual([id])
  return { slug, id, share, report, link }
}
type Shared = Awaited<ReturnType<typeof shared>>
const memberOf = ({ slug }: Shared, who: Person) => `/api/projects/${slug}/members/${who.id}`
const logLine = ({ id, slug }: Shared, message: string) =>
  makeEvent('log_line', { batch_id: id, source: { project: slug }, data: { level: 'info', line: message } })

/** What each way to open the links answers. */
async function openings({ share, link }: Shared) {
  const asked = (token: string) =>
    call('POST', '/graphql', undefined, {
      query: 'query($token: String!) { sharedBatch(token: $token) { id } }',
      variables: { token },
    })
  const report = await call('GET', `/api/shared-reports/${link.token}`)
  return {
    batch: (await call('GET', `/api/shared/${share.token}`)).status,
    graphql: (await asked(share.token)).body.data.sharedBatch !== null,
    stream: (await call('GET', `/api/sse?channels=${enc(`share:${share.token}`)}`)).status,
    report: report.status,
    ofReport: report.body.batches?.length ?? 0,
  }
}
const ALL = { batch: 200, graphql: true, stream: 200, report: 200, ofReport: 1 }
const NONE = { batch: 404, graphql: false, stream: 403, report: 404, ofReport: 0 }

test('links of a member who was removed stop at once, open streams too; they work again once the member is back', async () => {
  const { member, owner } = stage
  const made = await shared(member)
  expect(await openings(made)).toEqual(ALL)
  const { batches } = (await call('GET', `/api/shared-reports/${made.link.token}`)).body
  const streams = [
    await openStream(stage.app.address, [`share:${made.share.token}`], {}),
    await openStream(stage.app.address, [`share:${batches[0].token}`], {}),
  ]
  await stage.send(owner, [logLine(made, 'before the removal')])
  await streams[0]?.find((message) => JSON.stringify(message.data).includes('before the removal'))

  expect((await call('DELETE', memberOf(made, member), owner.token)).status).toBe(204)
  await stage.send(owner, [logLine(made, 'after the removal')])
  expect(await openings(made)).toEqual(NONE)
  expect(await Promise.all(streams.map(({ ended }) => within(ended)))).toEqual(['ended', 'ended'])
  for (const stream of streams) expect(stream.text()).not.toContain('after the removal')

  await stage.app.letIn(made.slug, owner, member, 'member')
  expect(await openings(made)).toEqual(ALL)
})

test('links of a disabled account stop at once and work again once it is enabled', async () => {
  const { admin } = stage
  const { user, token, email } = await stage.app.register()
  const reporter = await stage.app.reporterToken(token)
  const person: Person = { id: user.id, name: user.name, email, token, reporter, read: '' }
  const made = await shared(person)
  const change = (body: object) => call('PATCH', `/api/admin/users/${person.id}`, admin.token, body)
  expect((await change({ disabled: true })).status).toBe(200)
  expect(await openings(made)).toEqual(NONE)
  expect((await change({ disabled: false })).status).toBe(200)
  expect(await openings(made)).toEqual(ALL)
})

test('a member who becomes a viewer still shares their own batch, but no report', async () => {
  const { member, owner } = stage
  const made = await shared(member)
  const body = { email: member.email, role: 'viewer' }
  expect((await call('POST', `/api/projects/${made.slug}/members`, owner.token, body)).status).toBe(200)
  expect(await openings(made)).toEqual({ ...ALL, report: 404, ofReport: 0 })
})

test('a former administrator no longer shares what was never theirs', async () => {
  const { admin, owner } = stage
  const { user, token } = await stage.app.register()
  const roleOf = (role: string) => call('PATCH', `/api/admin/users/${user.id}`, admin.token, { role })
  expect((await roleOf('admin')).status).toBe(200)
  const made = await shared(owner)
  const foreign = (await call('POST', `/api/batches/${made.id}/shares`, token)).body
  const link = (await call('POST', `/api/reports/${made.report.id}/links`, token)).body
  const theirs = { ...made, share: foreign, link }
  expect(await openings(theirs)).toEqual(ALL)
  const stream = await openStream(stage.app.address, [`share:${foreign.token}`], {})
  expect((await roleOf('user')).status).toBe(200)
  expect(await openings(theirs)).toEqual(NONE)
  expect(await within(stream.ended)).toBe('ended')
  expect(await openings(made)).toEqual(ALL)
})

test('the owner of a project sees all links to it in one list, with those that do not open, and revokes them', async () => {
  const { member, owner, batchOwner } = stage
  const made = await shared(member)
  const anonymous = await call('POST', `/api/batches/${made.id}/shares`, owner.token, { anonymous: true })
  const list = async (query = '') =>
    (await call('GET', `/api/projects/${made.slug}/links${query}`, owner.token)).body
  const all = (await list()).items
  // The share that came with the link to the report is not listed apart.
  expect(all).toEqual([
    expect.objectContaining({ id: anonymous.body.id, opened: 'batch', anonymous: true, opens: true }),
    expect.objectContaining({ opened: 'report', report_id: made.report.id, title: made.report.title }),
    expect.objectContaining({
      id: made.share.id,
      opened: 'batch',
      batch_id: made.id,
      report_id: null,
      opens: true,
      created_by: { id: member.id, name: member.name },
      expires_at: null,
    }),
  ])
  expect(JSON.stringify(all)).not.toContain(made.share.token)
  const first = await list('?limit=2')
  const rest = await list(`?limit=2&cursor=${enc(first.next_cursor)}`)
  expect([...first.items, ...rest.items]).toEqual(all)
  for (const person of [member, batchOwner])
    expect((await call('GET', `/api/projects/${made.slug}/links`, person.token)).status).toBeGreaterThan(400)
  const asked = await call('POST', '/graphql', owner.token, {
    query: 'query($slug: String!) { project(slug: $slug) { links { id opens createdBy { name } } } }',
    variables: { slug: made.slug },
  })
  expect(asked.body.data.project.links.map(({ id }: { id: string }) => id)).toEqual(
    all.map(({ id }: { id: string }) => id),
  )

  await call('DELETE', memberOf(made, member), owner.token)
  const opens = (await list()).items.map((link: { opens: boolean }) => link.opens)
  expect(opens).toEqual([true, false, false])
  await stage.app.letIn(made.slug, owner, member, 'member')

  const [, ofReport, ofBatch] = all
  expect((await call('DELETE', `/api/shares/${ofBatch.id}`, owner.token)).status).toBe(204)
  const oneLink = `/api/reports/${made.report.id}/links/${ofReport.id}`
  expect((await call('DELETE', oneLink, owner.token)).status).toBe(204)
  expect((await call('DELETE', oneLink, owner.token)).body.code).toBe('share_not_found')
  expect((await list()).items.map(({ id }: { id: string }) => id)).toEqual([anonymous.body.id])
  expect(await openings(made)).toEqual(NONE)
})
