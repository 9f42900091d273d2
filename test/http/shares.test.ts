import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { batchShape, jobShape } from '../../src/http/batches/batch-shapes.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import { openStage, type Stage, startOf } from './stage.ts'

let stage: Stage
const clock = createClock()
beforeAll(async () => {
  stage = await openStage({}, { now: clock.now })
  const source = { project: 'vision', host: 'gpu-box-7', user: 'ada', commit: 'abc1234' }
  const of = (type: Parameters<typeof makeEvent>[0], job: string | null, data = {}) =>
    makeEvent(type, { batch_id: 'shared', job_id: job, source, timestamp: clock.now().toISOString(), data })
  await stage.send(stage.batchOwner, [
    startOf(
      { id: 'shared', source },
      {
        command:
          'python /home/ada/code/train.py --data=/mnt/sets/cifar --out ./runs --user ada --lr 0.1 src/x.yaml',
        cwd: '/home/ada/code',
        tags: ['on gpu-box-7', 'night'],
      },
    ),
    startOf({ id: 'not-shared', source }),
    of('job_start', 'a', {
      model: 'resnet',
      dataset: '/mnt/sets/cifar',
      out: { dir: 'C:\\Users\\ada\\x' },
      lr: 0.1,
      'optim/lr': 1,
    }),
    of('job_failed', 'a', {
      reason: 'File "/home/ada/code/train.py", line 3, on GPU-BOX-7: no s3://bucket/key',
    }),
    of('job_start', 'b'),
  ])
})
afterAll(() => stage?.stop())

const share = (body?: unknown, token = stage.batchOwner.token) =>
  stage.app.call('POST', '/api/batches/shared/shares', { token, body })
const open = (token: string, query = '') => stage.get(`/api/shared/${token}${query}`)

describe('a share', () => {
  test('opens its batch and its jobs to anyone for reading only', async () => {
    const made = await share({})
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      url: `${stage.app.address}/s/${made.body.token}`,
      token: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
      expires_at: null,
      anonymous: false,
    })
    const { status, body } = await open(made.body.token)
    expect([status, body.anonymous, body.expires_at]).toEqual([200, false, null])
    const own = (await stage.get('/api/batches/shared', stage.batchOwner.token)).body
    const can = { stop: false, rerun: false, delete: false, share: false, edit: false }
    expect(body.batch).toEqual({ ...own, can })
    expect(body.jobs.items.map((j: { id: string }) => j.id)).toEqual(['b', 'a'])
    const page = await open(made.body.token, '?limit=1')
    const next = await open(made.body.token, `?limit=1&cursor=${page.body.jobs.next_cursor}`)
    expect([page, next].map((p) => p.body.jobs.items[0].id)).toEqual(['b', 'a'])
    expect(JSON.stringify(body)).not.toContain('@')
  })

  test('opens nothing else: its token is not a credential of the API', async () => {
    const { token } = (await share()).body
    for (const path of ['/api/batches/shared', '/api/batches/not-shared', '/api/jobs', '/api/auth/me']) {
      expect([path, (await stage.get(path, token)).status]).toEqual([path, 401])
    }
    expect((await stage.get('/api/batches/shared')).status).toBe(404)
  })

  test('can be opened only with its whole token, which is stored as a hash', async () => {
    const { token } = (await share()).body
    for (const text of [
      token.slice(1),
      `${token}A`,
      token.toLowerCase(),
      'x',
      '%00',
      '%F0%9F%98%80',
      "'--",
    ]) {
      const { status, body } = await open(text)
      expect([text, status, body.code]).toEqual([text, 404, 'share_not_found'])
    }
    const [row] = await stage.app.sql<
      { stored: string }[]
    >`select string_agg(to_jsonb(s)::text, ' ') stored from shares s`
    expect(row?.stored).not.toContain(token)
    const { body } = await stage.get('/api/batches/shared/shares', stage.batchOwner.token)
    expect(JSON.stringify(body)).not.toContain(token)
    const log = await stage.get('/api/admin/audit', stage.admin.token)
    expect(JSON.stringify(log.body)).not.toContain(token)
  })

  test('is invalid after its end, after it was revoked, and while its batch is deleted', async () => {
    const [ending, revoked, kept] = [
      await share({ expires_at: new Date(clock.now().getTime() + 60_000).toISOString() }),
      await share(),
      await share(),
    ].map((made) => made.body)
    const statuses = () =>
      Promise.all([ending, revoked, kept].map(async ({ token }) => (await open(token)).status))
    expect(await statuses()).toEqual([200, 200, 200])
    clock.forward({ seconds: 61 })
    expect(await statuses()).toEqual([404, 200, 200])
    const revoke = (token: string) => stage.app.call('DELETE', `/api/shares/${revoked.id}`, { token })
    expect((await revoke(stage.member.token)).status).toBe(403)
    expect((await revoke(stage.stranger.token)).body.code).toBe('share_not_found')
    expect((await revoke(stage.owner.token)).status).toBe(204)
    expect((await revoke(stage.owner.token)).body.code).toBe('share_not_found')
    expect(await statuses()).toEqual([404, 404, 200])
    await stage.app.call('DELETE', '/api/batches/shared', { token: stage.owner.token })
    expect(await statuses()).toEqual([404, 404, 404])
    await stage.app.call('POST', '/api/batches/shared/restore', { token: stage.owner.token })
    expect(await statuses()).toEqual([404, 404, 200])
    const cut = await stage.app
      .sql`select from changes where channel = ${`share:${revoked.id}`} and type = 'revoked'`
    expect(cut).toHaveLength(1)
  })

  test.each([
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ expires_at: '2999-02-30T00:00:00Z' }, 'expires_at'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ expires_at: 1 }, 'expires_at'],
    [{ anonymous: 'yes' }, 'anonymous'],
    [{ days: 3 }, 'days'],
  ])('is refused for the body %j', async (body, path) => {
    const answer = await share(body)
    expect([answer.status, answer.body.code, answer.body.errors?.[0]?.path]).toEqual([
      422,
      'invalid_body',
      path,
    ])
  })
})

describe('an anonymous share', () => {
  test('hides user, owner, host and paths in every field, and shows the rest', async () => {
    const { token } = (await share({ anonymous: true })).body
    const { body } = await open(token)
    const text = JSON.stringify(body)
    for (const secret of [
      'ada',
      'gpu-box',
      'GPU-BOX',
      '/home',
      '/mnt',
      'runs',
      'x.yaml',
      'Users',
      'bucket',
      'batch-owner',
    ]) {
      expect([secret, text.includes(secret)]).toEqual([secret, false])
    }
    expect(body.batch).toMatchObject({
      id: 'shared',
      owner: null,
      host: null,
      user: null,
      commit: 'abc1234',
      command: 'python [hidden] --data=[hidden] --out [hidden] --user [hidden] --lr 0.1 [hidden]',
      tags: ['on [hidden]', 'night'],
      env_snapshot: { commit: 'abc1234', cwd: null, hostname: null },
    })
    const failed = body.jobs.items.find((j: { id: string }) => j.id === 'a')
    expect(failed).toMatchObject({
      model: 'resnet',
      dataset: '[hidden]',
      params: { lr: 0.1, 'optim/lr': 1, out: { dir: '[hidden]' } },
      failure_reason: 'File "[hidden]", line 3, on [hidden]: no [hidden]',
    })
    expect(batchShape.parse(body.batch)).toEqual(body.batch)
    for (const job of body.jobs.items) expect(jobShape.parse(job)).toEqual(job)
  })

  test('hides them in text of any length', async () => {
    const command = `${'a'.repeat(200_000)} ${'b/'.repeat(10_000)} ${'c:'.repeat(10_000)}`
    await stage.send(stage.batchOwner, [startOf({ id: 'long' }, { command })])
    const path = '/api/batches/long/shares'
    const made = await stage.app.call('POST', path, {
      token: stage.batchOwner.token,
      body: { anonymous: true },
    })
    const { body } = await open(made.body.token)
    expect(body.batch.command).toBe(`${'a'.repeat(200_000)} [hidden] ${'c:'.repeat(10_000)}`)
  })
})
