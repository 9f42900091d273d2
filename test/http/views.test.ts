import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

type Person = { token: string }
const view = (more: object = {}) => ({
  title: 'Night sweep',
  path: '/p/vision?q=tag%3Anight&sort=-lr',
  project: 'vision',
  ...more,
})
const save = (by: Person, more: object = {}) =>
  stage.app.call('POST', '/api/views', { token: by.token, body: view(more) })
const change = (by: Person, id: string, body: object) =>
  stage.app.call('PATCH', `/api/views/${id}`, { token: by.token, body })
const remove = (by: Person, id: string) => stage.app.call('DELETE', `/api/views/${id}`, { token: by.token })
let people = 0
const register = async () => {
  const email = `viewer-${++people}@example.org`
  const { user, token } = await stage.app.register(email)
  return { id: user.id as string, email, token: token as string }
}
const titles = async (by: Person, query = '') =>
  (await stage.get(`/api/views${query}`, by.token)).body.items.map((one: { title: string }) => one.title)

describe('a saved view', () => {
  test('is stored with its path and colors, for its user only unless it is shared', async () => {
    const saved = await save(stage.member, { colors: { '17': 3 } })
    expect(saved.status).toBe(201)
    expect(saved.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      title: 'Night sweep',
      path: '/p/vision?q=tag%3Anight&sort=-lr',
      project: 'vision',
      audience: 'private',
      colors: { '17': 3 },
      owner: { id: stage.member.id, name: expect.any(String) },
      can_edit: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect((await stage.get(`/api/views/${saved.body.id}`, stage.member.token)).body).toEqual(saved.body)
    expect(await titles(stage.member)).toContain('Night sweep')
    expect(await titles(stage.owner)).not.toContain('Night sweep')
    expect((await remove(stage.owner, saved.body.id)).body.code).toBe('view_not_found')

    expect((await change(stage.member, saved.body.id, { audience: 'project' })).body.audience).toBe('project')
    expect(await titles(stage.viewer, '?project=vision')).toEqual(['Night sweep'])
    expect(await titles(stage.stranger)).toEqual([])
    expect((await change(stage.viewer, saved.body.id, { title: 'Mine' })).status).toBe(403)
    expect((await remove(stage.owner, saved.body.id)).status).toBe(204)
    expect(await titles(stage.member)).toEqual([])
  })

  test('of the same title in the same project replaces the earlier one; renaming to a taken title is refused', async () => {
    const first = await save(stage.member, { title: 'A' })
    const again = await save(stage.member, { title: 'A', path: '/p/vision?q=other' })
    expect([again.status, again.body.id, again.body.path]).toEqual([200, first.body.id, '/p/vision?q=other'])
    const elsewhere = await save(stage.member, { title: 'A', path: '/compare?sel=1', project: null })
    expect([elsewhere.status, elsewhere.body.project]).toEqual([201, null])
    const other = await save(stage.member, { title: 'B' })
    expect((await change(stage.member, other.body.id, { title: 'A' })).body).toMatchObject({
      status: 409,
      code: 'view_exists',
    })
    expect((await save(stage.viewer, { title: 'A' })).status).toBe(201)
  })

  test('is the default of its project: one at a time, chosen by the owner', async () => {
    const path = '/p/vision?cols=%5B%22progress%22%5D'
    expect((await save(stage.member, { title: 'D1', path, audience: 'default' })).status).toBe(403)
    const first = await save(stage.owner, { title: 'D1', path, audience: 'default' })
    const second = await save(stage.member, { title: 'D2', path, audience: 'project' })
    expect((await change(stage.owner, second.body.id, { audience: 'default' })).status).toBe(200)
    const audienceOf = async (id: string) =>
      (await stage.get(`/api/views/${id}`, stage.viewer.token)).body.audience
    expect([await audienceOf(first.body.id), await audienceOf(second.body.id)]).toEqual([
      'project',
      'default',
    ])
    const both = await Promise.all([
      change(stage.owner, first.body.id, { audience: 'default' }),
      save(stage.owner, { title: 'D3', path, audience: 'default' }),
    ])
    expect(both.map(({ status }) => status)).toEqual([200, 201])
    const { body } = await stage.get('/api/views?project=vision', stage.viewer.token)
    const defaults = body.items.filter((one: { audience: string }) => one.audience === 'default')
    expect(defaults).toHaveLength(1)

    for (const elsewhere of ['/b/one', '/p/other', '/p/visionary']) {
      const refused = await save(stage.owner, { title: 'D4', path: elsewhere, audience: 'default' })
      expect([elsewhere, refused.status, refused.body.code]).toEqual([elsewhere, 422, 'view_path_mismatch'])
    }
    const nowhere = await save(stage.owner, { title: 'D5', project: null, audience: 'project' })
    expect(nowhere.body.code).toBe('view_path_mismatch')
  })

  test.each([
    '//evil.example/p/vision',
    '/\\evil.example',
    'https://evil.example/p/x',
    '/p//evil',
    '/api/batches',
    '/p/vision#x',
    '/p/a b',
    '/p/../verify/x',
    '/p/vision/../../account',
    '/p/%2e%2E/verify/x',
    '/b/./x',
    `/p/${'a'.repeat(8192)}`,
    '',
  ])('of a path outside of this service is refused: %s', async (path) => {
    const { status, body } = await save(stage.member, { title: 'bad', path })
    expect([status, body.code]).toEqual([422, 'invalid_body'])
  })

  test('of a project leads to no page of another one', async () => {
    for (const path of ['/p/other', '/p/vision2?q=x', '/p/']) {
      const { status, body } = await save(stage.member, { title: 'elsewhere', path })
      expect([path, status, body.code]).toEqual([path, 422, 'view_path_mismatch'])
    }
    const dotted = await save(stage.member, { title: 'dots', path: '/p/vision?q=../..' })
    expect(dotted.status).toBe(201)
    const moved = await change(stage.member, dotted.body.id, { path: '/p/other' })
    expect([moved.status, moved.body.code]).toEqual([422, 'view_path_mismatch'])
  })

  test('is deleted with its user, and hidden from a user who left the project', async () => {
    const person = await register()
    await stage.app.letIn('vision', stage.owner, person, 'member')
    const saved = await save(person, { title: 'kept' })
    expect(saved.status).toBe(201)
    await stage.app.call('DELETE', `/api/projects/vision/members/${person.id}`, { token: stage.owner.token })
    expect(await titles(person)).toEqual([])
    expect((await stage.get(`/api/views/${saved.body.id}`, person.token)).body.code).toBe('view_not_found')
  })

  test('is listed in pages', async () => {
    const person = await register()
    for (const n of [1, 2, 3]) await save(person, { title: `view ${n}`, path: '/hosts', project: null })
    const first = (await stage.get('/api/views?limit=2', person.token)).body
    const next = await stage.get(`/api/views?limit=2&cursor=${first.next_cursor}`, person.token)
    const seen = [...first.items, ...next.body.items].map((one: { title: string }) => one.title)
    expect(seen).toEqual(['view 3', 'view 2', 'view 1'])
    expect(next.body.next_cursor).toBeNull()
  })
})
