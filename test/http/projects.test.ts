import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { enc, openStage, type Stage, startOf } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const call = (...args: Parameters<Stage['app']['call']>) => stage.app.call(...args)
const create = (body: unknown, token = stage.owner.token) => call('POST', '/api/projects', { token, body })
const audited = async (slug: string) => {
  const { body } = await stage.get(`/api/admin/audit?subject=${enc(`project:${slug}`)}`, stage.admin.token)
  return body.items.map((entry: { action: string }) => entry.action)
}

describe('a project', () => {
  test('is private and has its slug as name by default; its creator owns it', async () => {
    const { status, body } = await create({ slug: 'Plain-one' })
    expect([status, body]).toEqual([
      201,
      {
        slug: 'Plain-one',
        display_name: 'Plain-one',
        visibility: 'private',
        owner: { id: stage.owner.id, name: 'owner' },
        role: 'owner',
        recipients: [],
        created_at: expect.stringMatching(/Z$/),
      },
    ])
    expect((await stage.get(`/api/projects/${enc('Plain-one')}`, stage.owner.token)).body).toEqual(body)
  })

  test('has a unique slug, also among projects that the creator cannot read', async () => {
    const { status, body } = await create({ slug: 'vision' }, stage.stranger.token)
    expect([status, body.code]).toEqual([409, 'project_exists'])
  })

  test.each([
    [{}, 'slug'],
    [{ slug: '' }, 'slug'],
    [{ slug: 'a b' }, 'slug'],
    [{ slug: 'a/b' }, 'slug'],
    [{ slug: 'a\nb' }, 'slug'],
    [{ slug: 'x'.repeat(129) }, 'slug'],
    [{ slug: 'ok', visibility: 'secret' }, 'visibility'],
    [{ slug: 'ok', display_name: '' }, 'display_name'],
    [{ slug: 'ok', owner: 'x' }, 'owner'],
  ])('is refused for the body %j', async (body, path) => {
    const answer = await create(body)
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([422, path])
  })

  test('accepts events from members, not from viewers and strangers', async () => {
    for (const [person, status] of [
      [stage.member, 200],
      [stage.viewer, 403],
      [stage.stranger, 403],
    ] as const) {
      const body = startOf({ project: 'open' })
      expect((await call('POST', '/api/events', { token: person.reporter, body })).status).toBe(status)
    }
  })

  test('is readable by everyone while it is public', async () => {
    await create({ slug: 'door' })
    await stage.send(stage.owner, [
      startOf({ id: 'in-door', project: 'door' }),
      makeEvent('job_start', { batch_id: 'in-door', source: { project: 'door' } }),
    ])
    const set = (visibility: string) =>
      call('PATCH', '/api/projects/door', { token: stage.owner.token, body: { visibility } })
    const paths = [
      '/api/projects/door',
      '/api/batches/in-door',
      '/api/batches/in-door/jobs',
      '/api/batches/in-door/stop-requested',
    ]
    const statuses = () => Promise.all(paths.map(async (path) => (await stage.get(path)).status))
    expect(await statuses()).toEqual([404, 404, 404, 404])
    expect((await set('public')).body.visibility).toBe('public')
    expect(await statuses()).toEqual([200, 200, 200, 200])
    await set('public')
    await set('private')
    expect(await statuses()).toEqual([404, 404, 404, 404])
    expect(await audited('door')).toEqual([
      'project.visibility_changed',
      'project.visibility_changed',
      'project.created',
    ])
    const changes = await stage.app
      .sql`select type from changes where channel = 'project:door' and type = 'access'`
    expect(changes).toHaveLength(2)
  })

  test('shows visitors neither mail recipients nor members', async () => {
    const body = { emails: ['Team@example.org', 'team@example.org', 'other@example.org'] }
    const set = await call('PUT', '/api/projects/open/recipients', { token: stage.owner.token, body })
    expect([set.status, set.body]).toEqual([
      200,
      {
        emails: ['team@example.org', 'other@example.org'],
        unconfirmed: ['team@example.org', 'other@example.org'],
      },
    ])
    const shown = async (token?: string) => (await stage.get('/api/projects/open', token)).body
    expect((await shown(stage.viewer.token)).recipients).toEqual(set.body.emails)
    expect((await shown(stage.admin.token)).recipients).toEqual(set.body.emails)
    for (const token of [undefined, stage.stranger.token, stage.stranger.read]) {
      const project = await shown(token)
      expect([project.role, 'recipients' in project]).toEqual([null, false])
      expect(JSON.stringify(project)).not.toContain('@')
    }
    expect((await stage.get('/api/projects/open/members')).status).toBe(401)
    expect((await stage.get('/api/projects/open/members', stage.stranger.token)).status).toBe(403)
  })
})

describe('members', () => {
  const set = (body: object, token = stage.owner.token) =>
    call('POST', '/api/projects/team/members', { token, body: { ...body, confirm_unverified: true } })
  const remove = (id: string) =>
    call('DELETE', `/api/projects/team/members/${id}`, { token: stage.owner.token })
  const sees = async () => (await stage.get('/api/projects/team', stage.stranger.token)).status
  beforeAll(() => create({ slug: 'team' }))

  test('can be invited, changed and removed, with effect at once', async () => {
    expect(await sees()).toBe(404)
    const { email, id, name } = stage.stranger
    const made = await set({ email: email.toUpperCase(), role: 'viewer' })
    expect([made.status, made.body]).toEqual([
      201,
      {
        user_id: id,
        name,
        email,
        role: 'viewer',
        created_at: expect.any(String),
        state: 'invited',
        invitation_id: expect.any(String),
      },
    ])
    expect(await sees()).toBe(404)
    const accept = `/api/invitations/${made.body.invitation_id}/accept`
    expect((await call('POST', accept, { token: stage.stranger.token })).status).toBe(200)
    expect(await sees()).toBe(200)
    expect((await set({ email, role: 'member' })).status).toBe(200)
    const { body } = await stage.get('/api/projects/team/members', stage.stranger.token)
    expect(body.items.map((m: { name: string; role: string }) => [m.name, m.role])).toEqual([
      ['stranger', 'member'],
      ['owner', 'owner'],
    ])
    expect((await remove(id)).status).toBe(204)
    expect(await sees()).toBe(404)
    expect((await remove(id)).body.code).toBe('member_not_found')
    expect((await remove('not-a-uuid')).body.code).toBe('member_not_found')
    expect(await audited('team')).toEqual([
      'project.member_removed',
      'project.member_set',
      'project.invitation_accepted',
      'project.member_invited',
      'project.created',
    ])
  })

  test('need an account, and the owner cannot be one of them', async () => {
    expect((await set({ email: 'unknown@example.org', role: 'viewer' })).body.code).toBe('user_not_found')
    expect((await set({ email: stage.owner.email, role: 'viewer' })).body.code).toBe('already_owner')
    expect((await set({ email: stage.viewer.email, role: 'owner' })).body.errors[0].path).toBe('role')
    expect((await set({ email: 'x', role: 'viewer' })).body.errors[0].path).toBe('email')
  })

  test('are listed in pages', async () => {
    for (const person of [stage.viewer, stage.member, stage.batchOwner])
      await stage.app.letIn('team', stage.owner, person, 'viewer')
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await stage.get(`/api/projects/team/members?limit=2${cursor}`, stage.owner.token)
      seen.push(...body.items.map((m: { name: string }) => m.name))
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(seen).toEqual(['batch-owner', 'member', 'viewer', 'owner'])
  })
})

describe('the list of projects', () => {
  test('contains the projects that the caller can read, newest first, in pages', async () => {
    const slugs = async (token?: string) => {
      const seen: string[] = []
      let cursor = ''
      do {
        const { body } = await stage.get(`/api/projects?limit=1${cursor}`, token)
        seen.push(...body.items.map((p: { slug: string }) => p.slug))
        cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
      } while (cursor !== '')
      return seen
    }
    expect(await slugs()).toEqual(['open'])
    expect(await slugs(stage.stranger.token)).toEqual(['open'])
    expect(await slugs(stage.viewer.token)).toEqual(['team', 'open', 'vision'])
    expect(await slugs(stage.admin.token)).toEqual(['team', 'door', 'Plain-one', 'open', 'vision'])
  })
})
