import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { declaration, patch, sha256 } from './sending-files.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await stage.send(
    stage.batchOwner,
    ['maker', 'user', 'other'].flatMap((batch_id) => [
      makeEvent('batch_start', { batch_id }),
      makeEvent('job_start', { batch_id, job_id: 'a' }),
    ]),
  )
  await stage.send(stage.batchOwner, [
    makeEvent('batch_start', { batch_id: 'elsewhere', source: { project: 'open' } }),
  ])
})
afterAll(() => stage?.stop())

const call = (...args: Parameters<Stage['app']['call']>) => stage.app.call(...args)
const AT = '/api/projects/vision/artifacts'
const get = async (path: string) => (await call('GET', AT + path, { token: stage.viewer.token })).body
const make = (body: Record<string, unknown>, token = stage.batchOwner.reporter) =>
  call('POST', AT, { token, body: { type: 'model', ...body } })
async function ready(name: string, bytes: string, more: Record<string, unknown> = {}): Promise<string> {
  const { body } = await make({ name, files: [declaration('model.pt', bytes)], ...more })
  for (const { upload_url } of body.uploads)
    await patch(stage.app, stage.batchOwner.reporter, upload_url, 0, bytes)
  return body.version
}

test('a version is pending until its content has arrived; then its aliases and latest move', async () => {
  const files = [declaration('b/weights.pt', 'weights'), declaration('a.json', '{}')]
  const made = await make({
    name: 'resnet',
    files,
    metadata: { acc: 0.9, pattern: String.raw`\u0000` },
    aliases: ['best'],
    batch_id: 'maker',
    job_id: 'a',
  })
  expect(made.status).toBe(201)
  const lines = [files[1], files[0]].map((f) => `${f?.path}\0${f?.sha256}\0${f?.size}\n`).join('')
  expect(made.body).toEqual({
    name: 'resnet',
    type: 'model',
    version: 'v0',
    digest: createHash('sha256').update(lines).digest('hex'),
    state: 'pending',
    uploads: files.map(({ path, sha256, size }) => ({
      path,
      sha256,
      size,
      upload_url: expect.stringMatching(/^\/api\/uploads\//),
    })),
  })
  expect((await get('/resnet/best')).code).toBe('artifact_not_found')
  expect(await get('/resnet/v0')).toMatchObject({
    state: 'pending',
    files: [{ uploaded: false, url: null }, {}],
  })
  const promote = await call('PUT', `${AT}/resnet/v0/aliases`, {
    token: stage.member.token,
    body: { add: ['prod'] },
  })
  expect(promote.body.code).toBe('artifact_pending')
  for (const [i, bytes] of ['weights', '{}'].entries())
    await patch(stage.app, stage.batchOwner.reporter, made.body.uploads[i].upload_url, 0, bytes)

  const version = await get('/resnet/best')
  expect(version).toMatchObject({
    version: 'v0',
    state: 'ready',
    aliases: ['best', 'latest'],
    size: 9,
    metadata: { acc: 0.9, pattern: String.raw`\u0000` },
    batch_id: 'maker',
    job_id: 'a',
    created_by: { id: stage.batchOwner.id },
    used_by: 0,
  })
  expect(version.files[1]).toEqual({
    path: 'b/weights.pt',
    sha256: sha256('weights'),
    size: 7,
    media_type: 'application/octet-stream',
    uploaded: true,
    url: '/api/projects/vision/artifacts/resnet/v0/files/b/weights.pt',
  })
  for (const token of [stage.viewer.token, stage.member.reporter, stage.viewer.read])
    expect((await call('GET', version.files[1].url, { token })).body).toBe('weights')
  expect((await call('GET', version.files[1].url, { token: stage.stranger.reporter })).status).toBe(404)

  const again = await make({ name: 'resnet', files: files.toReversed(), aliases: ['stable'] })
  expect([again.status, again.body.version, again.body.state, again.body.uploads]).toEqual([
    200,
    'v0',
    'ready',
    [],
  ])
  expect((await get('/resnet')).aliases).toEqual({ best: 'v0', latest: 'v0', stable: 'v0' })
})

test('a new version takes aliases over, and each move is recorded', async () => {
  expect(await ready('resnet', 'weights 2', { aliases: ['best'] })).toBe('v1')
  expect((await make({ name: 'resnet', type: 'dataset', files: [declaration('x', 'y')] })).body.code).toBe(
    'artifact_type_mismatch',
  )
  const change = (version: string, body: unknown, token = stage.member.token) =>
    call('PUT', `${AT}/resnet/${version}/aliases`, { token, body })
  expect(
    (await change('v0', { add: ['prod'], remove: ['stable', 'none'], comment: 'beats v1' })).body,
  ).toEqual({
    version: 'v0',
    aliases: ['prod'],
  })
  expect((await change('v0', { add: ['v7'] })).status).toBe(422)
  expect((await change('v0', { add: ['latest'] })).status).toBe(422)
  expect((await change('v0', {})).status).toBe(422)
  expect((await change('v9', { add: ['x'] })).body.code).toBe('artifact_not_found')
  expect((await change('v0', { add: ['x'] }, stage.viewer.token)).status).toBe(403)
  expect((await change('v0', { add: ['x'] }, stage.viewer.read)).status).toBe(403)
  expect((await change('v0', { add: ['x'] }, stage.stranger.token)).status).toBe(404)
  const artifact = await get('/resnet')
  expect(artifact).toMatchObject({
    versions: 2,
    latest: 'v1',
    aliases: { best: 'v1', latest: 'v1', prod: 'v0' },
    items: [{ version: 'v1' }, { version: 'v0', files: 2 }],
    next_cursor: null,
  })
  const { items: moves } = await get('/resnet/aliases/history')
  expect(moves.slice(0, 4)).toMatchObject([
    { alias: 'prod', version: 'v0', from: null, by: { id: stage.member.id }, comment: 'beats v1' },
    { alias: 'stable', version: null, from: 'v0' },
    { alias: 'latest', version: 'v1', from: 'v0', by: null },
    { alias: 'best', version: 'v1', from: 'v0', by: { id: stage.batchOwner.id } },
  ])
  expect((await get('?type=model')).items).toMatchObject([
    { name: 'resnet', type: 'model', versions: 2, size: 9 },
  ])
  expect((await get('?type=dataset')).items).toEqual([])
})

test('uses are noted once, and lineage follows them', async () => {
  const use = (version: string, body: unknown) =>
    call('POST', `${AT}/resnet/${version}/uses`, { token: stage.batchOwner.reporter, body })
  const first = await use('prod', { batch_id: 'user', job_id: 'a' })
  expect([first.status, first.body]).toEqual([201, { version: 'v0', batch_id: 'user', job_id: 'a' }])
  expect((await use('v0', { batch_id: 'user', job_id: 'a' })).status).toBe(200)
  expect((await use('v0', { batch_id: 'elsewhere' })).body.code).toBe('batch_project_mismatch')
  expect((await use('v0', { batch_id: 'none' })).body.code).toBe('batch_not_found')
  await ready('tuned', 'tuned weights', { batch_id: 'user' })
  expect(await get('/resnet/v0/lineage')).toEqual({
    artifact: { name: 'resnet', version: 'v0' },
    made_by: { batch_id: 'maker', job_id: 'a' },
    used_by: [{ batch_id: 'user', job_id: 'a', at: expect.stringMatching(/Z$/) }],
    inputs: [],
    outputs: [{ name: 'tuned', version: 'v0', batch_id: 'user' }],
  })
  expect(await get('/tuned/latest/lineage')).toMatchObject({ inputs: [{ name: 'resnet', version: 'v0' }] })
  const of = async (batch: string, query = '') =>
    (await call('GET', `/api/batches/${batch}/artifacts${query}`, { token: stage.viewer.token })).body
  const used = { relation: 'used', name: 'resnet', type: 'model', version: 'v0', job_id: 'a', files: 2 }
  const made = {
    relation: 'made',
    name: 'tuned',
    version: 'v0',
    job_id: null,
    aliases: ['latest'],
    state: 'ready',
  }
  expect((await of('user')).items).toMatchObject([made, used])
  expect((await of('user', '?relation=used')).items).toMatchObject([used])
  const page = await of('user', '?limit=1')
  expect((await of('user', `?limit=1&cursor=${page.next_cursor}`)).items).toMatchObject([used])
  expect(await of('elsewhere')).toEqual({ items: [], next_cursor: null })
  const found = async (list: string, where: string) => {
    const path = `/api/${list}?where=${encodeURIComponent(where)}`
    const { items } = (await call('GET', path, { token: stage.viewer.token })).body
    return items.map((one: { id: string; batch_id?: string }) => one.batch_id ?? one.id).sort()
  }
  expect(await found('batches', 'artifact:resnet')).toEqual(['maker', 'user'])
  expect(await found('batches', 'artifact:"resnet:v1"')).toEqual([])
  expect(await found('batches', 'artifact:"resnet:prod"')).toEqual(['maker', 'user'])
  expect(await found('batches', 'artifact:none')).toEqual([])
  expect(await found('jobs', 'artifact:resnet')).toEqual(['maker', 'user'])
})

test('a version in use is deleted only by force, and its number and content are not reused', async () => {
  const remove = (version: string, query = '', token = stage.owner.token) =>
    call('DELETE', `${AT}/resnet/${version}${query}`, { token })
  expect((await remove('v0')).body.code).toBe('artifact_in_use')
  expect((await remove('v1')).body.code).toBe('artifact_in_use')
  expect((await remove('v0', '', stage.member.token)).status).toBe(403)
  expect((await remove('v0', '?force=true', stage.batchOwner.reporter)).status).toBe(403)
  expect((await remove('v1', '?force=true')).status).toBe(204)
  expect(await get('/resnet')).toMatchObject({
    latest: 'v0',
    versions: 1,
    aliases: { latest: 'v0', prod: 'v0' },
  })
  expect(await ready('resnet', 'weights 2')).toBe('v2')
  expect((await get('/resnet')).latest).toBe('v2')
  const log = await call('GET', '/api/admin/audit?action=artifact.', { token: stage.admin.token })
  expect(log.body.items).toMatchObject([
    { action: 'artifact.deleted', subject: 'artifact:vision/resnet', detail: { version: 'v1', force: true } },
    { action: 'artifact.aliases_changed', detail: { version: 'v0', add: ['prod'], comment: 'beats v1' } },
  ])
})

test('a batch that makes a version again is listed as its maker, too, once', async () => {
  await stage.send(stage.batchOwner, [
    makeEvent('batch_start', { batch_id: 'second' }),
    makeEvent('job_start', { batch_id: 'second', job_id: 'a' }),
  ])
  const files = [declaration('same.pt', 'the same')]
  expect(await ready('again', 'the same', { files, batch_id: 'maker', job_id: 'a' })).toBe('v0')
  for (const more of [{ job_id: 'a' }, { job_id: 'a' }, {}]) {
    const { status, body } = await make({ name: 'again', files, batch_id: 'second', ...more })
    expect([status, body.version, body.uploads]).toEqual([200, 'v0', []])
  }
  const madeBy = async (batch: string) => {
    const path = `/api/batches/${batch}/artifacts?relation=made`
    const { items } = (await call('GET', path, { token: stage.viewer.token })).body
    return items.filter((one: { name: string }) => one.name === 'again')
  }
  const made = {
    relation: 'made',
    name: 'again',
    version: 'v0',
    job_id: 'a',
    state: 'ready',
    aliases: ['latest'],
  }
  for (const batch of ['maker', 'second']) expect(await madeBy(batch)).toMatchObject([made])
  await make({ name: 'again', files, batch_id: 'maker', job_id: 'a' })
  expect(await madeBy('maker')).toHaveLength(1)
  const where = encodeURIComponent('artifact:again')
  const found = (await call('GET', `/api/batches?where=${where}`, { token: stage.viewer.token })).body.items
  expect(found.map(({ id }: { id: string }) => id).sort()).toEqual(['maker', 'second'])
  expect((await get('/again/v0/lineage')).made_by).toEqual({ batch_id: 'maker', job_id: 'a' })
  const use = { token: stage.batchOwner.reporter, body: { batch_id: 'second' } }
  expect((await call('POST', `${AT}/tuned/v0/uses`, use)).status).toBe(201)
  expect((await get('/tuned/v0/lineage')).outputs).toEqual([
    { name: 'again', version: 'v0', batch_id: 'second' },
  ])
  const trash = await call('DELETE', '/api/batches/maker', { token: stage.batchOwner.token })
  expect(trash.status).toBeLessThan(300)
  expect((await get('/again/v0/lineage')).made_by).toEqual({ batch_id: 'second', job_id: 'a' })
  await call('POST', '/api/batches/maker/restore', { token: stage.batchOwner.token })
  expect((await get('/again/v0/lineage')).made_by.batch_id).toBe('maker')
  const force = `${AT}/again/v0?force=true`
  expect((await call('DELETE', force, { token: stage.owner.token })).status).toBe(204)
  expect(await madeBy('second')).toEqual([])
})

test('names, aliases and files that cannot be are refused', async () => {
  const files = [declaration('x', 'x')]
  const refused = async (body: Record<string, unknown>) => {
    const answer = await make({ name: 'n', files, ...body })
    return [answer.status, answer.body.errors?.[0]?.path]
  }
  expect(await refused({ name: 'a/b' })).toEqual([422, 'name'])
  expect(await refused({ name: 'a:b' })).toEqual([422, 'name'])
  expect(await refused({ name: '..' })).toEqual([422, 'name'])
  expect(await refused({ aliases: ['v1'] })).toEqual([422, 'aliases.0'])
  expect(await refused({ files: [] })).toEqual([422, 'files'])
  expect(await refused({ files: [declaration('../x', 'x')] })).toEqual([422, 'files.0.path'])
  expect(await refused({ metadata: { text: '\0' } })).toEqual([422, 'metadata'])
  expect((await make({ name: 'n', files }, stage.viewer.reporter)).status).toBe(403)
  expect((await make({ name: 'n', files }, stage.viewer.read)).status).toBe(403)
  expect((await make({ name: 'n', files }, stage.stranger.reporter)).status).toBe(404)
  expect((await make({ name: 'n', files, batch_id: 'elsewhere' })).body.code).toBe('batch_project_mismatch')
})
