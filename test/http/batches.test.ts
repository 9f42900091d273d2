import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { batchShape } from '../../src/http/batches/batch-shapes.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import { enc, openStage, type Stage, startOf } from './stage.ts'

let stage: Stage
const clock = createClock()
beforeAll(async () => {
  stage = await openStage({}, { now: clock.now })
})
afterAll(() => stage?.stop())

const at = (secondsAgo: number) => new Date(clock.now().getTime() - secondsAgo * 1000).toISOString()
const call = (...args: Parameters<Stage['app']['call']>) => stage.app.call(...args)

describe('a batch', () => {
  test('has every field of the contract, filled from its events', async () => {
    const source = { project: 'vision', host: 'gpu-1', user: 'ada', commit: 'abc1234' }
    await stage.send(stage.batchOwner, [
      makeEvent('batch_start', {
        batch_id: 'full',
        source,
        timestamp: at(100),
        data: {
          experiment_type: 'sweep',
          n_total: 3,
          command: 'python train.py',
          cwd: '/home/ada',
          tags: ['night', 'lr'],
          rerun_of: 'earlier',
        },
      }),
      makeEvent('job_start', { batch_id: 'full', job_id: 'a', source, timestamp: at(90) }),
      makeEvent('job_start', { batch_id: 'full', job_id: 'b', source, timestamp: at(90) }),
      makeEvent('job_done', { batch_id: 'full', job_id: 'a', source, timestamp: at(80) }),
    ])
    const { status, body } = await stage.get('/api/batches/full', stage.batchOwner.token)
    expect(status).toBe(200)
    const { elapsed_s: elapsed, ...rest } = body
    expect(elapsed).toBe(100)
    expect(rest).toEqual({
      id: 'full',
      project: 'vision',
      status: 'running',
      stalled: false,
      stop_requested: false,
      owner: { id: stage.batchOwner.id, name: 'batch-owner' },
      host: 'gpu-1',
      host_id: null,
      user: 'ada',
      commit: 'abc1234',
      command: 'python train.py',
      experiment_type: 'sweep',
      tags: ['night', 'lr'],
      notes: '',
      name: null,
      group: null,
      config: null,
      summary: null,
      starred: false,
      archived: false,
      traceback: null,
      n_total: 3,
      n_done: 1,
      n_failed: 0,
      n_running: 1,
      slots: { total: 3, started: 2, finished: 1 },
      started_at: at(100),
      ended_at: null,
      last_seen_at: at(80),
      last_received_at: expect.stringMatching(/Z$/),
      clock_skew_s: null,
      events_pending: null,
      sweep_id: null,
      progress: expect.any(Number),
      eta_s: expect.any(Number),
      failure_reason: null,
      env_snapshot: { commit: 'abc1234', command: 'python train.py', cwd: '/home/ada', hostname: 'gpu-1' },
      rerun_of: 'earlier',
      can: { stop: true, rerun: true, delete: true, share: true, edit: true },
    })
    expect(batchShape.parse(body)).toEqual(body)
  })

  test('has the counts of its end event, not those of the stored events', async () => {
    await stage.send(stage.batchOwner, [
      startOf({ id: 'ended', timestamp: at(50) }),
      makeEvent('batch_done', {
        batch_id: 'ended',
        timestamp: at(10),
        data: { n_done: 7, n_failed: 2, total_elapsed_s: 39.5 },
      }),
    ])
    const { body } = await stage.get('/api/batches/ended', stage.viewer.token)
    expect(body).toMatchObject({
      status: 'completed',
      n_done: 7,
      n_failed: 2,
      elapsed_s: 39.5,
      ended_at: at(10),
    })
    expect(body.can).toEqual({ stop: false, rerun: false, delete: false, share: false, edit: false })
  })

  test('that is known only from events of its jobs exists, without values that were not reported', async () => {
    await stage.send(stage.batchOwner, [
      makeEvent('job_start', { batch_id: 'placeholder', timestamp: at(5) }),
    ])
    const { body } = await stage.get('/api/batches/placeholder', stage.member.token)
    expect(body).toMatchObject({
      started_at: at(5),
      n_total: null,
      env_snapshot: null,
      command: null,
      host: null,
    })
    expect(batchShape.parse(body)).toEqual(body)
  })

  test('is found by an id with any character that needs percent-encoding', async () => {
    const id = 'a/b?c#d %2F,é😀&='
    await stage.send(stage.batchOwner, [startOf({ id })])
    for (const path of ['', '/jobs', '/stop-requested']) {
      expect((await stage.get(`/api/batches/${enc(id)}${path}`, stage.member.token)).status).toBe(200)
    }
    expect((await stage.get(`/api/batches/${enc(id)}`, stage.member.token)).body.id).toBe(id)
  })

  test('that does not exist and one that is hidden get the same answer', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'hidden' })])
    const [hidden, missing] = [
      await stage.get('/api/batches/hidden', stage.stranger.token),
      await stage.get('/api/batches/missing', stage.stranger.token),
    ]
    const shown = ({ status, body }: typeof hidden) => [status, body.code, body.title, body.detail]
    expect(shown(hidden)).toEqual(shown(missing))
    expect(hidden.status).toBe(404)
  })
})

describe('the stalled mark', () => {
  test('is not set before the first threshold after the start, is set after silence, and clears by itself', async () => {
    const clock = createClock()
    const stage = await openStage({ stallTimeoutMin: 15 }, { now: clock.now })
    try {
      const stalled = async () => (await stage.get('/api/batches/quiet', stage.owner.token)).body.stalled
      const ago = (min: number) => new Date(clock.now().getTime() - min * 60_000).toISOString()
      await stage.send(stage.owner, [startOf({ id: 'quiet', timestamp: ago(60) })])
      expect(await stalled()).toBe(false)
      clock.forward({ minutes: 16 })
      expect(await stalled()).toBe(true)
      await stage.send(stage.owner, [makeEvent('log_line', { batch_id: 'quiet', timestamp: ago(0) })])
      expect(await stalled()).toBe(false)
      clock.forward({ minutes: 16 })
      expect(await stalled()).toBe(true)
      await stage.send(stage.owner, [makeEvent('batch_done', { batch_id: 'quiet', timestamp: ago(0) })])
      expect(await stalled()).toBe(false)
    } finally {
      await stage.stop()
    }
  })
})

describe('the list of batches', () => {
  const idsOf = async (query: string, token = stage.owner.token) => {
    const { status, body } = await stage.get(`/api/batches?${query}`, token)
    expect([status, body.code]).toEqual([200, undefined])
    return body.items.map((batch: { id: string }) => batch.id)
  }

  beforeAll(async () => {
    const project = { token: stage.owner.token, body: { slug: 'Lists' } }
    expect((await call('POST', '/api/projects', project)).status).toBe(201)
    const make = (id: string, seconds: number, host: string, tags: string[], command: string) =>
      startOf({ id, project: 'Lists', source: { host }, timestamp: at(seconds) }, { tags, command })
    await stage.send(stage.owner, [
      make('l1', 50, 'Alpha', ['Red', 'big'], 'python a.py --lr 0.1'),
      make('l2', 40, 'beta', ['red'], 'python b.py 100%_sure'),
      make('l3', 30, 'beta', ['blue'], 'python c.py \\d'),
      make('l4', 20, 'gamma', [], 'bash d.sh'),
      makeEvent('batch_done', { batch_id: 'l1', source: { project: 'Lists' }, timestamp: at(10) }),
      makeEvent('batch_failed', { batch_id: 'l2', source: { project: 'Lists' }, timestamp: at(10) }),
    ])
  })

  test.each([
    ['project=Lists', ['l4', 'l3', 'l2', 'l1']],
    ['project=Lists&status=running', ['l4', 'l3']],
    ['project=Lists&status=COMPLETED&status=failed', ['l2', 'l1']],
    ['project=Lists&host=ALPHA', ['l1']],
    ['project=Lists&host=alpha&host=gamma', ['l4', 'l1']],
    ['project=Lists&host=beta&status=running', ['l3']],
    ['project=Lists&tag=RED', ['l2', 'l1']],
    ['project=Lists&tag=red&tag=blue', ['l3', 'l2', 'l1']],
    ['project=Lists&tag=red&host=beta', ['l2']],
    ['project=Lists&q=PYTHON', ['l3', 'l2', 'l1']],
    ['project=Lists&q=a.py&q=d.sh', ['l4', 'l1']],
    ['project=Lists&q=L3', ['l3']],
    ['project=Lists&q=100%25_', ['l2']],
    ['project=Lists&q=%25', ['l2']],
    ['project=Lists&q=_', ['l2']],
    ['project=Lists&q=%5Cd', ['l3']],
    ['project=Lists&q=blue', ['l3']],
    ['project=Lists&q=sweep', ['l4', 'l3', 'l2', 'l1']],
    ['project=Lists&owner=OWNER@EXAMPLE.ORG', ['l4', 'l3', 'l2', 'l1']],
    ['project=Lists&owner=owner%40example.org', ['l4', 'l3', 'l2', 'l1']],
    ['project=Lists&owner=unknown', []],
    ['project=Lists&project=missing', ['l4', 'l3', 'l2', 'l1']],
    ['project=missing', []],
    ['project=Lists&tag=re', []],
  ])('under %s', async (query, ids) => {
    expect(await idsOf(query)).toEqual(ids)
  })

  test('can be filtered by the id of the owner, and by the address only by callers who may know it', async () => {
    expect(await idsOf(`project=Lists&owner=${stage.owner.id.toUpperCase()}`)).toHaveLength(4)
    await stage.send(stage.batchOwner, [startOf({ id: 'in-public', project: 'open' })])
    const byAddress = `project=open&owner=${enc(stage.batchOwner.email)}`
    expect(await idsOf(byAddress, stage.member.token)).toEqual(['in-public'])
    expect(await idsOf(byAddress, stage.stranger.token)).toEqual([])
    expect(await idsOf(`project=open&owner=batch-owner`, stage.member.token)).toEqual([])
  })

  test('shows each caller the batches of the projects that the caller can read, and no others', async () => {
    const slugsOf = async (token?: string) => {
      const { body } = await stage.get('/api/batches?limit=500', token)
      return new Set(body.items.map((batch: { project: string }) => batch.project))
    }
    expect(await slugsOf()).toEqual(new Set(['open']))
    expect(await slugsOf(stage.stranger.token)).toEqual(new Set(['open']))
    expect(await slugsOf(stage.viewer.token)).toEqual(new Set(['open', 'vision']))
    expect(await slugsOf(stage.owner.read)).toEqual(new Set(['open', 'vision', 'Lists']))
    expect(await slugsOf(stage.admin.token)).toEqual(new Set(['open', 'vision', 'Lists']))
  })

  test('never contains an e-mail address', async () => {
    const { body } = await stage.get('/api/batches?limit=500', stage.owner.token)
    expect(JSON.stringify(body)).not.toContain('@')
  })

  test('has pages that contain every batch once, for any page size, even with equal times', async () => {
    const same = at(5)
    await stage.send(
      stage.owner,
      Array.from({ length: 25 }, (_, i) => startOf({ id: `p${10 + i}`, project: 'paged', timestamp: same })),
    )
    const expected = Array.from({ length: 25 }, (_, i) => `p${34 - i}`)
    for (const limit of [1, 7, 24, 25, 26]) {
      const seen: string[] = []
      let cursor = ''
      do {
        const { body } = await stage.get(
          `/api/batches?project=paged&limit=${limit}${cursor}`,
          stage.owner.token,
        )
        expect(body.items.length).toBeLessThanOrEqual(limit)
        seen.push(...body.items.map((b: { id: string }) => b.id))
        cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
      } while (cursor !== '')
      expect(seen).toEqual(expected)
    }
  })

  test('lists batches of several projects in one order', async () => {
    const seen: { started_at: string }[] = []
    let cursor = ''
    do {
      const { body } = await stage.get(`/api/batches?limit=3${cursor}`, stage.owner.token)
      seen.push(...body.items)
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    const { body } = await stage.get('/api/batches?limit=500', stage.admin.token)
    const mine = body.items.filter((batch: { project: string }) => batch.project !== 'unseen')
    expect(seen.map((b) => b.started_at)).toEqual(
      seen
        .map((b) => b.started_at)
        .toSorted()
        .toReversed(),
    )
    expect(seen).toHaveLength(mine.length)
  })
})

describe('a hostile query of the list', () => {
  const cursorOf = async (query: string) =>
    (await stage.get(`/api/batches?limit=1${query}`, stage.owner.token)).body.next_cursor
  const forged = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

  test.each([
    ['limit=0', 'limit'],
    ['limit=501', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=99999999999999999999', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=', 'limit'],
    ['limit=0x10', 'limit'],
    ['limit=%2010', 'limit'],
    ['limit=Infinity', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['project=%00', 'project.0'],
    ['q=a&q=%07', 'q.1'],
    ['host=', 'host.0'],
    [`tag=${'x'.repeat(513)}`, 'tag.0'],
    ['status=gone', 'status.0'],
    ['deleted=maybe', 'deleted'],
    [Array.from({ length: 51 }, () => 'q=a').join('&'), 'q'],
    ['projet=vision', 'projet'],
    ['offset=5', 'offset'],
    ['__proto__=1', '__proto__'],
    ['project[]=vision', 'project[]'],
    [`cursor=${'A'.repeat(3000)}`, 'cursor'],
  ])('is 422 and names the field: %s', async (query, field) => {
    const { status, body } = await stage.get(`/api/batches?${query}`, stage.owner.token)
    expect([status, body.code]).toEqual([422, 'invalid_query'])
    expect(body.errors.map((e: { path: string }) => e.path)).toContain(field)
  })

  test('with a cursor of another list, of other filters, or of no list is 422 invalid_cursor', async () => {
    const all = await cursorOf('')
    expect(all).toEqual(expect.any(String))
    const [name] = JSON.parse(Buffer.from(all, 'base64url').toString()) as [string]
    const queries = [
      `/api/batches?status=running&cursor=${all}`,
      `/api/jobs?cursor=${all}`,
      `/api/batches/full/jobs?cursor=${all}`,
      `/api/projects?cursor=${all}`,
      `/api/batches?cursor=${await cursorOf('&status=running')}`,
      '/api/batches?cursor=x',
      '/api/batches?cursor=%00',
      `/api/batches?cursor=${forged([name, [0, 0, '', '2026-02-30T00:00:00Z', 1]])}`,
      `/api/batches?cursor=${forged([name, [0, 0, '', '0000-01-01T00:00:00Z', 1]])}`,
      `/api/batches?cursor=${forged([name, [0, 0, '', '2026-01-01T00:00:00Z', 1e300]])}`,
      `/api/batches?cursor=${forged([name, [0, 0, '', "'; drop table batches", 1]])}`,
      `/api/batches?cursor=${forged([name, [0, 'NaN', '', '2026-01-01T00:00:00Z', 1]])}`,
      `/api/batches?cursor=${forged(null)}`,
    ]
    for (const path of queries) {
      const { status, body } = await stage.get(path, stage.owner.token)
      expect([path, status, body.code, body.errors?.[0]?.path]).toEqual([
        path,
        422,
        'invalid_cursor',
        'cursor',
      ])
    }
  })

  test('is never a 5xx, for any path', async () => {
    for (const id of [
      '%00',
      '%ED%A0%80',
      '%',
      '%zz',
      'x'.repeat(3000),
      '..%2f..',
      '%25',
      "'--",
      enc('\u202e'),
      '.',
    ]) {
      for (const path of [
        `/api/batches/${id}`,
        `/api/batches/${id}/jobs`,
        `/api/jobs/${id}`,
        `/api/projects/${id}`,
      ]) {
        const { status } = await stage.get(path, stage.owner.token)
        expect([path, status >= 400 && status < 500]).toEqual([path, true])
      }
    }
  })
})

describe('editing a batch', () => {
  const patch = (body: unknown, token = stage.member.token, id = 'edited') =>
    call('PATCH', `/api/batches/${id}`, { token, body })
  beforeAll(() =>
    stage.send(stage.batchOwner, [startOf({ id: 'edited', timestamp: at(10) }, { tags: ['sent'] })]),
  )

  test('changes the given fields and answers with the batch', async () => {
    const tagged = await patch({ tags: ['a', 'b', 'a'] })
    expect([tagged.status, tagged.body.tags, tagged.body.notes]).toEqual([200, ['a', 'b'], ''])
    const noted = await patch({ notes: 'two\nlines' })
    expect([noted.body.tags, noted.body.notes]).toEqual([['a', 'b'], 'two\nlines'])
  })

  test('adds and removes tags beside those that others add at the same time', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'tagged', timestamp: at(10) }, { tags: ['sent'] })])
    const names = Array.from({ length: 8 }, (_, i) => `t${i}`)
    const of = (body: unknown) => patch(body, stage.member.token, 'tagged')
    const answers = await Promise.all(names.map((name) => of({ add_tags: [name, name] })))
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200))
    const after = await of({ add_tags: ['sent', 'last'], remove_tags: ['t0', 'sent', 'absent'] })
    expect(after.body.tags.toSorted()).toEqual(['last', 'sent', ...names.slice(1)])
    const many = Array.from({ length: 95 }, (_, i) => `m${i}`)
    const refused = await of({ add_tags: many })
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, 'add_tags'])
    expect((await of({ tags: ['a', 'b'], add_tags: ['c'], remove_tags: ['a'] })).body.tags).toEqual([
      'b',
      'c',
    ])
  })

  test('keeps the tags when the start event is sent again', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'edited', timestamp: at(1) }, { tags: ['later'] })])
    expect((await stage.get('/api/batches/edited', stage.member.token)).body.tags).toEqual(['a', 'b'])
  })

  test.each([
    [{}, ''],
    [{ tags: 'a' }, 'tags'],
    [{ tags: [''] }, 'tags.0'],
    [{ add_tags: [''] }, 'add_tags.0'],
    [{ tags: ['a\u0000'] }, 'tags.0'],
    [{ tags: ['x'.repeat(129)] }, 'tags.0'],
    [{ tags: Array.from({ length: 101 }, (_, i) => `t${i}`) }, 'tags'],
    [{ notes: 'x'.repeat(65_537) }, 'notes'],
    [{ notes: '\u0000' }, 'notes'],
    [{ notes: '\ud800' }, 'notes'],
    [{ notes: null }, 'notes'],
    [{ status: 'completed' }, 'status'],
    [null, ''],
  ])('refuses %j', async (body, path) => {
    const answer = await patch(JSON.stringify(body))
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_body'])
    expect(answer.body.errors[0].path).toBe(path)
  })
})

describe('stopping a batch', () => {
  const stop = (id: string, token = stage.batchOwner.token) =>
    call('POST', `/api/batches/${id}/stop`, { token })
  const asked = (id: string, token: string) => stage.get(`/api/batches/${id}/stop-requested`, token)

  test('sets the flag once; the reporter reads it with its own token', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'stop-me', timestamp: at(10) })])
    expect((await asked('stop-me', stage.batchOwner.reporter)).body).toEqual({ stop_requested: false })
    for (let i = 0; i < 2; i++) expect((await stop('stop-me')).body).toEqual({ stop_requested: true })
    expect((await asked('stop-me', stage.batchOwner.reporter)).body).toEqual({
      stop_requested: true,
      requested_by: 'batch-owner',
      requested_at: expect.stringMatching(/Z$/),
    })
    expect((await stage.get('/api/batches/stop-me', stage.viewer.token)).body).toMatchObject({
      status: 'running',
      stop_requested: true,
    })
    const { body } = await stage.get('/api/admin/audit?subject=batch%3Astop-me', stage.admin.token)
    expect(body.items).toMatchObject([
      { action: 'batch.stop_requested', actor: { name: 'batch-owner' }, via: 'session' },
    ])
  })

  test('makes a later batch_failed end the batch as stopped, with its reason', async () => {
    await stage.send(stage.batchOwner, [
      makeEvent('job_start', { batch_id: 'stop-me', timestamp: at(9) }),
      makeEvent('batch_failed', {
        batch_id: 'stop-me',
        timestamp: at(1),
        data: { reason: 'KeyboardInterrupt' },
      }),
    ])
    const { body } = await stage.get('/api/batches/stop-me', stage.viewer.token)
    expect([body.status, body.failure_reason]).toEqual(['stopped', 'KeyboardInterrupt'])
    expect((await stop('stop-me')).body.code).toBe('batch_finished')
  })

  test('is 409 once the batch has ended', async () => {
    await stage.send(stage.batchOwner, [
      startOf({ id: 'over', timestamp: at(10) }),
      makeEvent('batch_done', { batch_id: 'over', timestamp: at(1) }),
    ])
    const { status, body } = await stop('over')
    expect([status, body.code]).toEqual([409, 'batch_finished'])
  })

  test('at the same time as its failure ends in one of two consistent states', async () => {
    const ids = Array.from({ length: 20 }, (_, i) => `race-${i}`)
    await stage.send(
      stage.batchOwner,
      ids.map((id) => startOf({ id, timestamp: at(10) })),
    )
    await Promise.all(
      ids.map(async (id) => {
        const [stopped] = await Promise.all([
          stop(id),
          stage.send(stage.batchOwner, [makeEvent('batch_failed', { batch_id: id, timestamp: at(1) })]),
        ])
        const { body } = await stage.get(`/api/batches/${id}`, stage.batchOwner.token)
        expect([id, stopped.status, body.status, body.stop_requested]).toEqual(
          stopped.status === 200 ? [id, 200, 'stopped', true] : [id, 409, 'failed', false],
        )
      }),
    )
  })
})

describe('deleting a batch', () => {
  const remove = (id: string, token = stage.batchOwner.token) =>
    call('DELETE', `/api/batches/${id}`, { token })
  const seen = async (id: string) => (await stage.get(`/api/batches/${id}`, stage.batchOwner.token)).status

  test('hides it from every read until it is restored', async () => {
    await stage.send(stage.batchOwner, [
      startOf({ id: 'gone' }),
      makeEvent('job_start', { batch_id: 'gone' }),
    ])
    const job = (await stage.get('/api/batches/gone/jobs', stage.batchOwner.token)).body.items[0]
    const answer = await remove('gone')
    expect([answer.status, answer.body]).toEqual([204, ''])
    for (const path of ['', '/jobs', '/shares', '/stop-requested'])
      expect([path, await seen(`gone${path}`)]).toEqual([path, 404])
    expect((await stage.get(`/api/jobs/${job.key}`, stage.batchOwner.token)).status).toBe(404)
    expect((await stage.get('/api/jobs?batch=gone', stage.batchOwner.token)).body.items).toEqual([])
    const listed = async (query: string, token: string) =>
      (await stage.get(`/api/batches?limit=500${query}`, token)).body.items.map((b: { id: string }) => b.id)
    expect(await listed('', stage.batchOwner.token)).not.toContain('gone')
    expect(await listed('&deleted=true', stage.batchOwner.token)).toEqual(['gone'])
    expect(await listed('&deleted=true', stage.owner.token)).toContain('gone')
    expect(await listed('&deleted=true', stage.member.token)).toEqual([])
    const jobs = await stage.get('/api/jobs?limit=500', stage.batchOwner.token)
    expect(jobs.body.items.map((j: { batch_id: string }) => j.batch_id)).not.toContain('gone')
    expect((await remove('gone')).body.code).toBe('batch_not_found')

    const restored = await call('POST', '/api/batches/gone/restore', { token: stage.batchOwner.token })
    expect([restored.status, restored.body.id, 'deleted_at' in restored.body]).toEqual([200, 'gone', false])
    expect(await seen('gone')).toBe(200)
    const { body } = await stage.get('/api/admin/audit?subject=batch%3Agone', stage.admin.token)
    expect(body.items.map((e: { action: string }) => e.action)).toEqual(['batch.restored', 'batch.deleted'])
  })

  test('stays in effect while events arrive, and its reporter can still read the stop flag', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'late', timestamp: at(10) })])
    await call('POST', '/api/batches/late/stop', { token: stage.batchOwner.token })
    await remove('late')
    await stage.send(stage.batchOwner, [
      startOf({ id: 'late', timestamp: at(5) }),
      makeEvent('job_start', { batch_id: 'late', timestamp: at(4) }),
    ])
    expect(await seen('late')).toBe(404)
    const asked = await stage.get('/api/batches/late/stop-requested', stage.batchOwner.reporter)
    expect(asked.body).toMatchObject({ stop_requested: true, requested_by: 'batch-owner' })
  })

  test('in bulk answers with the result for each id, once', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'mine-1' }), startOf({ id: 'mine-2' })])
    await stage.send(stage.member, [startOf({ id: 'others' })])
    await stage.send(stage.stranger, [startOf({ id: 'secret', project: 'strangers' })])
    const body = { batch_ids: ['mine-1', 'others', 'secret', 'missing', 'mine-2', 'mine-1', '\u0000'] }
    const bulk = () => call('POST', '/api/batches/bulk-delete', { token: stage.batchOwner.token, body })
    expect((await bulk()).body).toEqual({
      deleted: ['mine-1', 'mine-2'],
      not_found: ['secret', 'missing', '\u0000'],
      forbidden: ['others'],
    })
    expect((await bulk()).body).toMatchObject({ deleted: [], forbidden: ['others'] })
  })

  test.each([
    [{}, 'batch_ids'],
    [{ batch_ids: [] }, 'batch_ids'],
    [{ batch_ids: Array.from({ length: 501 }, (_, i) => `b${i}`) }, 'batch_ids'],
    [{ batch_ids: [1] }, 'batch_ids.0'],
    [{ batch_ids: ['x'.repeat(513)] }, 'batch_ids.0'],
    [{ batch_ids: ['a'], force: true }, 'force'],
  ])('in bulk refuses %o', async (body, path) => {
    const answer = await call('POST', '/api/batches/bulk-delete', { token: stage.batchOwner.token, body })
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([422, path])
  })

  test('by two requests at once is one deletion', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'twice' })])
    const answers = await Promise.all([remove('twice'), remove('twice', stage.owner.token)])
    expect(answers.map((a) => a.status).toSorted()).toEqual([204, 404])
  })
})
