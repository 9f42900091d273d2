import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [startOf({ id: 'shown', project: 'vision' })])
  await stage.send(stage.owner, [startOf({ id: "owner's", project: 'vision' })])
})
afterAll(() => stage?.stop())

const call = (by: { token: string } | undefined, method: string, path: string, body?: unknown) =>
  stage.app.call(method, path, { ...(by && { token: by.token }), ...(body !== undefined && { body }) })

test('a report can be changed by members, and is listed without its text for everyone who can read the project', async () => {
  const made = await call(stage.member, 'POST', '/api/reports', { title: 'One', project: 'vision' })
  expect(made.body).toMatchObject({ title: 'One', body: '', can_edit: true, can_share: true, shared: false })
  const path = `/api/reports/${made.body.id}`
  const changed = await call(stage.batchOwner, 'PATCH', path, { body: 'By another' })
  expect([changed.status, changed.body.body, changed.body.can_share]).toEqual([200, 'By another', false])
  const listed = await call(stage.viewer, 'GET', '/api/reports?project=vision')
  expect(listed.body.items.map((one: { title: string; body?: string }) => [one.title, one.body])).toEqual([
    ['One', undefined],
  ])
  expect((await call(stage.stranger, 'GET', path)).body.code).toBe('report_not_found')
  expect((await call(stage.stranger, 'GET', '/api/reports')).body.items).toEqual([])
  expect((await call(stage.member, 'DELETE', path)).status).toBe(204)
  expect((await call(stage.member, 'GET', path)).status).toBe(404)
})

test('a link opens the text and those embedded batches that its creator may share, until it is revoked', async () => {
  const body = "@batch(shown)\n@jobs(owner's)\n@batch(missing)\n```\n@batch(shown)\n```"
  const made = await call(stage.batchOwner, 'POST', '/api/reports', { title: 'Two', project: 'vision', body })
  const path = `/api/reports/${made.body.id}`
  const link = await call(stage.batchOwner, 'POST', `${path}/links`)
  expect([link.status, link.body.batches]).toEqual([201, ['shown']])
  const open = await call(undefined, 'GET', `/api/shared-reports/${link.body.token}`)
  expect(open.body).toMatchObject({ title: 'Two', body, batches: [{ id: 'shown' }] })
  const share = open.body.batches[0].token
  expect((await call(undefined, 'GET', `/api/shared/${share}`)).body.batch.id).toBe('shown')
  expect((await call(stage.viewer, 'GET', path)).body.shared).toBe(false)
  expect((await call(stage.member, 'GET', path)).body.shared).toBe(true)

  expect((await call(stage.batchOwner, 'DELETE', `${path}/links`)).status).toBe(204)
  expect((await call(undefined, 'GET', `/api/shared-reports/${link.body.token}`)).status).toBe(404)
  expect((await call(undefined, 'GET', `/api/shared/${share}`)).status).toBe(404)
  expect((await call(stage.batchOwner, 'GET', path)).body.shared).toBe(false)
})

test('notes of a job can be changed by users who may edit its batch, and are read with the job', async () => {
  const path = '/api/batches/noted/jobs'
  await stage.send(stage.batchOwner, [
    startOf({ id: 'noted', project: 'vision' }),
    { ...startOf({ id: 'noted', project: 'vision' }), event_type: 'job_start', job_id: 'j', data: {} },
  ])
  const { key } = (await call(stage.member, 'GET', path)).body.items[0]
  const changed = await call(stage.member, 'PATCH', `/api/jobs/${key}`, { notes: '**diverged**' })
  expect([changed.status, changed.body.notes]).toEqual([200, '**diverged**'])
  await stage.send(stage.batchOwner, [
    { ...startOf({ id: 'noted', project: 'vision' }), event_type: 'job_done', job_id: 'j', data: {} },
  ])
  expect((await call(stage.viewer, 'GET', path)).body.items[0]).toMatchObject({
    status: 'completed',
    notes: '**diverged**',
  })
  expect((await call(stage.viewer, 'PATCH', `/api/jobs/${key}`, { notes: '' })).status).toBe(403)
})

test('tags of a job can be changed by users who may edit its batch, are kept when events arrive, and can be searched', async () => {
  const event = (event_type: string, job_id: string) => ({
    ...startOf({ id: 'tagged', project: 'vision' }),
    event_type,
    job_id,
    data: {},
  })
  await stage.send(stage.batchOwner, [
    startOf({ id: 'tagged', project: 'vision' }),
    event('job_start', 'j'),
    event('job_start', 'plain'),
  ])
  const path = '/api/batches/tagged/jobs'
  const { items } = (await call(stage.member, 'GET', path)).body
  const { key, tags } = items.find((job: { id: string }) => job.id === 'j')
  expect(tags).toEqual([])
  const patch = (person: typeof stage.member, body: object) => call(person, 'PATCH', `/api/jobs/${key}`, body)
  const changed = await patch(stage.member, { tags: ['Best', 'in /home/ada', 'Best'] })
  expect([changed.status, changed.body.tags, changed.body.notes]).toEqual([200, ['Best', 'in /home/ada'], ''])
  expect((await patch(stage.member, { notes: 'n' })).body.tags).toEqual(['Best', 'in /home/ada'])
  expect((await patch(stage.viewer, { tags: [] })).status).toBe(403)
  expect((await patch(stage.member, { tags: [' x'] })).status).toBe(422)
  const added = await Promise.all(['a', 'b', 'c'].map((tag) => patch(stage.member, { add_tags: [tag] })))
  expect(added.map(({ status }) => status)).toEqual([200, 200, 200])
  const removed = await patch(stage.member, { remove_tags: ['a', 'b', 'c', 'absent'] })
  expect(removed.body.tags).toEqual(['Best', 'in /home/ada'])

  await stage.send(stage.batchOwner, [event('job_done', 'j')])
  const found = (await call(stage.viewer, 'GET', '/api/jobs?tag=best&tag=other')).body.items
  expect(found.map((job: { id: string; status: string }) => [job.id, job.status])).toEqual([
    ['j', 'completed'],
  ])
  const asked = await call(stage.viewer, 'POST', '/graphql', {
    query: '{ jobs(first: 9, where: { tag: ["BEST"] }) { totalCount edges { node { jobId tags } } } }',
  })
  expect(asked.body.data.jobs).toEqual({
    totalCount: 1,
    edges: [{ node: { jobId: 'j', tags: ['Best', 'in /home/ada'] } }],
  })

  const { token } = (await call(stage.batchOwner, 'POST', '/api/batches/tagged/shares', { anonymous: true }))
    .body
  const query = `{ sharedBatch(token: "${token}") {
    all: jobs(first: 9) { edges { node { jobId tags } } } found: jobs(first: 9, where: { tag: ["best"] }) { totalCount } } }`
  const shared = (await call(undefined, 'POST', '/graphql', { query })).body.data.sharedBatch
  const hidden = shared.all.edges.find(({ node }: { node: { jobId: string } }) => node.jobId === 'j').node
    .tags
  expect(hidden[0]).toBe('Best')
  expect(hidden[1]).not.toContain('ada')
  // What is hidden is not found out by asking for it.
  expect(shared.found.totalCount).toBe(0)
})
