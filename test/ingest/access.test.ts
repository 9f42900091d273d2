import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from './sending.ts'

// Who may send events, and how many (contract §1 "Rate", §2; specification §5).

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

let made = 0
const newName = (): string => `access-${++made}`
const to = (project: string, batch_id: string) => makeEvent('log_line', { batch_id, source: { project } })
const countOf = async (batchId: string): Promise<number> => {
  const [row] =
    await door.sql`select count(*) n from events v join batches b on b.key = v.batch_key where b.id = ${batchId}`
  return row?.n
}

describe('a project', () => {
  test('is created by its first event: private, owned by the user of the token', async () => {
    const { token, userId } = await door.stranger()
    const project = newName()
    expect((await door.send(to(project, newName()), token)).status).toBe(200)
    expect(
      await door.sql`select slug, display_name, visibility, owner_id from projects where slug = ${project}`,
    ).toEqual([{ slug: project, display_name: project, visibility: 'private', owner_id: userId }])
  })

  test('is not created by an event that is refused', async () => {
    const project = newName()
    const event = makeEvent('job_epoch', { source: { project }, data: { epoch: 'x' } })
    expect((await door.send(event)).status).toBe(422)
    expect(await door.sql`select from projects where slug = ${project}`).toHaveLength(0)
  })

  test('is created once when many first events come at the same time', async () => {
    const project = newName()
    const answers = await Promise.all(Array.from({ length: 20 }, () => door.send(to(project, newName()))))
    expect(answers.map((a) => a.status)).toEqual(Array(20).fill(200))
    expect(await door.sql`select from projects where slug = ${project}`).toHaveLength(1)
  })

  test('of another user is 403 project_forbidden, whether the sender can read it or not, and nothing is stored', async () => {
    const owner = await door.stranger()
    const other = await door.stranger()
    const project = newName()
    await door.send(to(project, newName()), owner.token)
    const batch = newName()
    expect(await door.send(to(project, batch), other.token)).toMatchObject({
      status: 403,
      body: { code: 'project_forbidden', detail: expect.stringContaining(`the project ${project}:`) },
    })
    await door.sql`update projects set visibility = 'public' where slug = ${project}`
    expect((await door.send(to(project, batch), other.token)).status).toBe(403)
    const { body } = await door.sendAll([to(project, batch), to(newName(), newName())], other.token)
    expect(body.results).toMatchObject([
      { db_id: null, error: { status: 403, code: 'project_forbidden' } },
      { deduplicated: false },
    ])
    expect(await countOf(batch)).toBe(0)
    expect(await door.sql`select from batches where id = ${batch}`).toHaveLength(0)
  })

  test('accepts events from members and administrators, not from viewers', async () => {
    const owner = await door.stranger()
    const project = newName()
    await door.send(to(project, newName()), owner.token)
    const [{ key } = { key: 0 }] = await door.sql`select key from projects where slug = ${project}`
    for (const [role, status] of [
      ['member', 200],
      ['viewer', 403],
    ] as const) {
      const person = await door.stranger()
      await door.sql`insert into project_members (project_key, user_id, role) values (${key}, ${person.userId}, ${role})`
      expect((await door.send(to(project, newName()), person.token)).status).toBe(status)
    }
    expect((await door.send(to(project, newName()))).status).toBe(200)
  })

  test('that is unknown is 404 unknown_project where projects are not created on first use', async () => {
    const strict = await openDoor({ projectAutocreate: false })
    try {
      const refused = { status: 404, code: 'unknown_project' }
      expect((await strict.send(to('new', 'b'))).body).toMatchObject(refused)
      expect((await strict.sendAll([to('new', 'b')])).body.results).toMatchObject([{ error: refused }])
      expect(await strict.sql`select from projects`).toHaveLength(0)
      expect(await strict.sql`select from events`).toHaveLength(0)
      await strict.sql`insert into projects (slug, display_name, owner_id) values ('new', 'new', ${strict.userId})`
      expect((await strict.send(to('new', 'b'))).status).toBe(200)
    } finally {
      await strict.stop()
    }
  })
})

describe('a batch', () => {
  test('of another project is 409 for a caller who can read it and 403 for one who cannot', async () => {
    const owner = await door.stranger()
    const other = await door.stranger()
    const [home, away, batch] = [newName(), newName(), newName()]
    await door.send(to(home, batch), owner.token)
    const conflict = { status: 409, code: 'batch_project_mismatch' }
    expect((await door.send(to(away, batch), owner.token)).body).toMatchObject(conflict)
    expect((await door.sendAll([to(away, batch)], owner.token)).body.results).toMatchObject([
      { error: conflict },
    ])
    expect((await door.send(to(newName(), batch), other.token)).body).toMatchObject({
      status: 403,
      code: 'project_forbidden',
      detail: expect.stringContaining('choose another id'),
    })
    await door.sql`update projects set visibility = 'public' where slug = ${home}`
    expect((await door.send(to(newName(), batch), other.token)).body).toMatchObject(conflict)
    expect(await door.sql`select from projects where slug = ${away}`).toHaveLength(0)
    expect(await countOf(batch)).toBe(1)
  })

  test('that one array sends under two projects belongs to the first of them', async () => {
    const batch = newName()
    const { body } = await door.sendAll([to(newName(), batch), to(newName(), batch)])
    expect(body.results).toMatchObject([
      { deduplicated: false },
      { error: { status: 409, code: 'batch_project_mismatch' } },
    ])
    expect(await countOf(batch)).toBe(1)
  })

  test('is owned by the user behind the token of its first event', async () => {
    const owner = await door.stranger()
    const [project, batch] = [newName(), newName()]
    await door.send(to(project, batch), owner.token)
    await door.send(to(project, batch))
    expect(await door.sql`select owner_id from batches where id = ${batch}`).toEqual([
      { owner_id: owner.userId },
    ])
  })

  test('that was deleted still accepts events and stays deleted', async () => {
    const batch = newName()
    await door.send(to('vision', batch))
    await door.sql`update batches set deleted_at = now() where id = ${batch}`
    const start = makeEvent('batch_start', { batch_id: batch })
    const { status, body } = await door.send(start)
    expect([status, body]).toEqual([200, { db_id: body.db_id, deduplicated: false, deleted: true }])
    expect((await door.send(start)).body).toEqual({ db_id: body.db_id, deduplicated: true, deleted: true })
    expect(await countOf(batch)).toBe(2)
    expect(
      await door.sql`select deleted_at is not null deleted, experiment_type from batches where id = ${batch}`,
    ).toEqual([{ deleted: true, experiment_type: 'sweep' }])
  })

  test('that was purged is 404 batch_purged', async () => {
    const batch = newName()
    const event = to('vision', batch)
    const { body } = await door.send(event)
    await door.sql`update batches set deleted_at = now(), purged_at = now() where id = ${batch}`
    expect((await door.send(to('vision', batch))).body).toMatchObject({ status: 404, code: 'batch_purged' })
    // A repeat of what was stored before is still a repeat.
    expect((await door.send(event)).body).toEqual({ db_id: body.db_id, deduplicated: true })
  })

  test('has the time of its newest event, of any type, as last_seen', async () => {
    const batch_id = newName()
    await door.send(makeEvent('log_line', { batch_id, timestamp: '2026-03-01T12:00:00Z' }))
    await door.send(makeEvent('resource_snapshot', { batch_id, timestamp: '2026-03-01T11:00:00Z' }))
    const [row] = await door.sql`select first_seen_at, last_seen_at from batch_progress p
      join batches b on b.key = p.batch_key where b.id = ${batch_id}`
    expect(row).toEqual({ first_seen_at: '2026-03-01T11:00:00Z', last_seen_at: '2026-03-01T12:00:00Z' })
  })
})

describe('a credential', () => {
  const unauthenticated = { status: 401, body: { code: 'unauthenticated' } }

  test('that is missing, malformed or unknown is refused before the body is read', async () => {
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Basic abc',
      'Bearer em_live_nonsense',
      `Bearer ${door.token}x`,
      `Bearer ${door.token.slice(0, -1)}`,
      'Bearer em_read_nonsense',
    ]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
      for (const path of ['/api/events', '/api/events/batch']) {
        const answer = await door.app.call('POST', path, { headers, body: 'not even JSON' })
        expect(answer).toMatchObject(unauthenticated)
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
      }
    }
  })

  test('that is the session of a user is refused', async () => {
    expect(await door.send(to('vision', newName()), door.session)).toMatchObject(unauthenticated)
  })

  test('that is a read token is 403', async () => {
    const { body } = await door.app.call('POST', '/api/tokens', {
      token: door.session,
      body: { name: 'notebook', scope: 'read' },
    })
    const batch = newName()
    for (const answer of [
      await door.send(to('vision', batch), body.token),
      await door.sendAll([to('vision', batch)], body.token),
    ]) {
      expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
    expect(await countOf(batch)).toBe(0)
  })

  test('that was revoked is refused at once by both endpoints, even if it was used a moment ago', async () => {
    const token = await door.app.reporterToken(door.session, 'soon gone')
    const batch = newName()
    expect((await door.send(to('vision', batch), token)).status).toBe(200)
    const { body } = await door.app.call('GET', '/api/tokens', { token: door.session })
    const { id } = body.items.find((t: { name: string }) => t.name === 'soon gone')
    expect((await door.app.call('DELETE', `/api/tokens/${id}`, { token: door.session })).status).toBe(204)
    expect(await door.send(to('vision', batch), token)).toMatchObject(unauthenticated)
    expect(await door.sendAll([to('vision', batch), 'bad', to('vision', batch)], token)).toMatchObject(
      unauthenticated,
    )
    expect(await countOf(batch)).toBe(1)
  })

  test('of a user who was disabled is refused at once', async () => {
    const person = await door.stranger()
    const project = newName()
    const batch = newName()
    expect((await door.send(to(project, batch), person.token)).status).toBe(200)
    const answer = await door.app.call('PATCH', `/api/admin/users/${person.userId}`, {
      token: door.session,
      body: { disabled: true },
    })
    expect(answer.status).toBe(200)
    expect(await door.send(to(project, batch), person.token)).toMatchObject(unauthenticated)
    expect(await door.sendAll([to(project, batch)], person.token)).toMatchObject(unauthenticated)
    expect(await countOf(batch)).toBe(1)
  })

  test('has a last-used time once it was used', async () => {
    const token = await door.app.reporterToken(door.session, 'in use')
    await door.send(to('vision', newName()), token)
    await expect
      .poll(async () => {
        const { body } = await door.app.call('GET', '/api/tokens', { token: door.session })
        return body.items.find((t: { name: string }) => t.name === 'in use').last_used_at
      })
      .not.toBeNull()
  })
})

describe('the rate limit', () => {
  test('counts every event of an array, and refuses with 429 and Retry-After', async () => {
    const limited = await openDoor({ rateLimit: { eventsPerS: 2, burst: 10 } })
    try {
      const events = (n: number) => Array.from({ length: n }, () => makeEvent('log_line'))
      const first = await limited.sendAll(events(8))
      expect(first.status).toBe(200)
      expect(first.headers['ratelimit-policy']).toBe('"events";q=10;w=5')
      expect(first.headers.ratelimit).toMatch(/^"events";r=2;t=[45]$/)
      const refused = await limited.sendAll(events(8))
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', status: 429 } })
      expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/)
      expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(3)
      expect(refused.headers).toMatchObject({
        'ratelimit-policy': '"events";q=10;w=5',
        ratelimit: expect.stringMatching(/^"events";r=\d;t=\d$/),
      })
      expect(await limited.sql`select count(*) n from events`).toEqual([{ n: 8 }])
      // Each token has a bucket of its own.
      const another = await limited.app.reporterToken(limited.session, 'another')
      expect((await limited.sendAll(events(10), another)).status).toBe(200)
      const single = await limited.send(makeEvent('log_line'), another)
      expect(single.status).toBe(429)
      expect(single.headers['retry-after']).toBe('1')
    } finally {
      await limited.stop()
    }
  })

  test('accepts an array that is larger than the burst once the bucket is full', async () => {
    const limited = await openDoor({ rateLimit: { eventsPerS: 1, burst: 10 } })
    try {
      const events = Array.from({ length: 50 }, () => makeEvent('log_line'))
      expect((await limited.sendAll(events)).status).toBe(200)
      expect((await limited.send(makeEvent('log_line'))).status).toBe(429)
    } finally {
      await limited.stop()
    }
  })
})
