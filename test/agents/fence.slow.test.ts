import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Person, type Stage, startOf } from '../http/stage.ts'
import { PASSWORD } from '../kit/app.ts'
import { registerAgent, type TestAgent } from './agent.ts'

/**
 * Rerun is remote code execution (contract §2): forged input sends no command to another's agent, and
 * none reaches an agent of the right person that its owner's own reporter did not record, or that owner give.
 */
let stage: Stage
const agents = new Map<string, TestAgent>()
const HOSTS = ['alpha', 'beta'] as const
let people: Person[]
beforeAll(async () => {
  stage = await openStage()
  people = [stage.admin, stage.owner, stage.batchOwner, stage.member, stage.viewer, stage.stranger]
  for (const person of people) {
    for (const host of HOSTS) {
      agents.set(`${person.name} ${host}`, await registerAgent(stage.app, person.token, host))
    }
  }
})
afterAll(() => stage?.stop())

const agentOf = (person: Person, host: string) => agents.get(`${person.name} ${host}`) as TestAgent
const rerun = (batch: string, token: string | undefined, body?: unknown) =>
  stage.app.call('POST', `/api/batches/${batch}/rerun`, { ...(token === undefined ? {} : { token }), body })

interface Waiting {
  cmd_id: string
  kind: string
  batch_id: string
  command: string
  cwd: string
  env: Record<string, string>
}
/** Everything that waits anywhere: `person host` → its commands. */
async function waiting(): Promise<Map<string, Waiting[]>> {
  const found = new Map<string, Waiting[]>()
  for (const [name, agent] of agents) {
    const { jobs } = (await agent.jobs()).body
    if (jobs.length > 0) found.set(name, jobs)
  }
  return found
}
/** Each agent refuses its commands, so that the next test starts without any. */
async function sweep(): Promise<void> {
  for (const [name, jobs] of await waiting()) {
    for (const { cmd_id } of jobs) {
      await agents.get(name)?.say(`jobs/${cmd_id}/ack`, { failure_reason: 'swept' })
    }
  }
}

let batches = 0
async function batchOf(person: Person, host: string, data: Record<string, unknown> = {}): Promise<string> {
  const id = `fenced-${++batches}`
  const source = { project: 'vision', host }
  await stage.send(person, [startOf({ id, source }, { command: 'python mine.py', cwd: '/mine', ...data })])
  return id
}

describe('forged requests', () => {
  const OVERRIDES = [
    undefined,
    {},
    { jobs: 'all' },
    { cwd: '/evil' },
    { command: 'evil' },
    { cwd: '/evil', command: 'evil' },
    { cwd: '/evil', jobs: 'all' },
  ] as const

  test('a command is sent only to the agent of the batch owner on the host of the batch, and only the owner can change it', async () => {
    const credentials = [
      undefined,
      'ag_live_forged',
      ...people.flatMap((person) => [person.token, person.reporter, person.read]),
      ...[...agents.values()].map((agent) => agent.token),
    ]
    const id = await batchOf(stage.batchOwner, 'alpha')
    const home = `${stage.batchOwner.name} alpha`
    let queued = 0
    for (const credential of credentials) {
      for (const override of OVERRIDES) {
        const { status, body } = await rerun(id, credential, override)
        const changes = override !== undefined && ('cwd' in override || 'command' in override)
        const owns = credential === stage.batchOwner.token
        const runs = owns || credential === stage.owner.token || credential === stage.admin.token
        if (!runs || (changes && !owns)) {
          expect([401, 403, 404]).toContain(status)
          continue
        }
        queued++
        expect([status, body.host_id]).toEqual([202, agentOf(stage.batchOwner, 'alpha').id])
      }
    }
    expect(queued).toBe(7 + 3 + 3)
    const everything = await waiting()
    expect([...everything.keys()]).toEqual([home])
    const jobs = everything.get(home) as Waiting[]
    expect(jobs).toHaveLength(queued)
    const audit = await stage.get(`/api/admin/audit?subject=batch:${id}`, stage.admin.token)
    const reruns = audit.body.items.filter((e: { action: string }) => e.action === 'batch.rerun_requested')
    const actors = new Map(
      reruns.map((e: { detail: { cmd_id: string }; actor: { id: string } }) => [e.detail.cmd_id, e.actor.id]),
    )
    for (const { cmd_id, command, cwd } of jobs) {
      if (command !== 'python mine.py' || cwd !== '/mine')
        expect(actors.get(cmd_id)).toBe(stage.batchOwner.id)
      expect(actors.has(cmd_id)).toBe(true)
    }
    expect(jobs.filter(({ command }) => command === 'python mine.py')).toHaveLength(queued - 2)
    expect(reruns).toHaveLength(queued)
    await sweep()
  })

  test('for every user and host a rerun of a batch goes to its own owner on its own host', async () => {
    const writers = [stage.admin, stage.owner, stage.batchOwner, stage.member]
    for (const owner of writers) {
      for (const host of HOSTS) {
        const id = await batchOf(owner, host)
        for (const asker of people) await rerun(id, asker.token)
        const everything = await waiting()
        expect([...everything.keys()]).toEqual([`${owner.name} ${host}`])
        expect(everything.get(`${owner.name} ${host}`)?.every((job) => job.batch_id === id)).toBe(true)
        await sweep()
      }
    }
  })

  test.each([
    'ALPHA',
    'alpha ',
    'alpha.example.org',
    'alpha%',
    '_lpha',
    'gamma',
    '',
  ])('the host %j matches no agent, even if it looks similar', async (host) => {
    const id = await batchOf(stage.batchOwner, host)
    expect((await rerun(id, stage.batchOwner.token)).body.code).toBe('agent_offline')
    expect(await waiting()).toEqual(new Map())
  })
})

describe('events of other users about a batch', () => {
  const FORGED = {
    command: 'evil',
    cwd: '/evil',
    env_snapshot: { command: 'evil', cwd: '/evil', hostname: 'beta' },
  }
  const far = '2099-01-01T00:00:00Z'
  const forge = (id: string, by: Person, host: string, timestamp = far) =>
    stage.send(by, [startOf({ id, timestamp, source: { project: 'vision', host } }, FORGED)])

  test.each(
    HOSTS,
  )('change neither the command nor the host, before or after the events of the owner (%s)', async (host) => {
    for (const forger of [stage.member, stage.owner, stage.admin]) {
      const id = await batchOf(stage.batchOwner, 'alpha')
      await forge(id, forger, host)
      const shown = (await stage.get(`/api/batches/${id}`, stage.batchOwner.token)).body
      expect(shown).toMatchObject({
        host: 'alpha',
        command: 'python mine.py',
        env_snapshot: { cwd: '/mine' },
      })
      for (const asker of [stage.batchOwner, forger]) await rerun(id, asker.token)
      const everything = await waiting()
      expect([...everything.keys()]).toEqual([`${stage.batchOwner.name} alpha`])
      for (const job of everything.get(`${stage.batchOwner.name} alpha`) ?? []) {
        expect(job).toMatchObject({ command: 'python mine.py', cwd: '/mine' })
      }
      await sweep()
    }
  })

  test('fill in nothing that the owner left out', async () => {
    const without = await batchOf(stage.batchOwner, 'alpha', { command: undefined })
    await forge(without, stage.member, 'alpha')
    expect((await rerun(without, stage.batchOwner.token)).body.code).toBe('command_unknown')
    const homeless = await batchOf(stage.batchOwner, 'alpha', { cwd: undefined })
    await forge(homeless, stage.member, 'alpha')
    expect((await rerun(homeless, stage.batchOwner.token)).status).toBe(202)
    const [job] = (await agentOf(stage.batchOwner, 'alpha').jobs()).body.jobs
    expect(job).toMatchObject({ command: 'python mine.py', cwd: null })
    await sweep()
    const id = `fenced-${++batches}`
    const nowhere = startOf(
      { id, source: { project: 'vision' } },
      { command: 'python mine.py', cwd: '/mine' },
    )
    await stage.send(stage.batchOwner, [nowhere])
    await forge(id, stage.member, 'alpha')
    expect((await rerun(id, stage.batchOwner.token)).body.code).toBe('agent_offline')
    expect(await waiting()).toEqual(new Map())
  })

  test('make them its owner if they come first: it then runs on their own agent or not at all', async () => {
    const id = `fenced-${++batches}`
    await forge(id, stage.member, 'beta', '2020-01-01T00:00:00Z')
    const mine = startOf(
      { id, source: { project: 'vision', host: 'alpha' } },
      { command: 'python mine.py', cwd: '/mine' },
    )
    await stage.send(stage.batchOwner, [mine])
    expect((await rerun(id, stage.batchOwner.token)).status).toBe(403)
    expect((await rerun(id, stage.owner.token)).status).toBe(202)
    const everything = await waiting()
    expect([...everything.keys()]).toEqual([`${stage.member.name} beta`])
    await sweep()
  })

  test('link no batch of theirs to a process of the owner, so that stopping it kills nothing', async () => {
    const origin = await batchOf(stage.batchOwner, 'alpha')
    const { cmd_id } = (await rerun(origin, stage.batchOwner.token)).body
    const agent = agentOf(stage.batchOwner, 'alpha')
    await agent.jobs()
    await agent.start(cmd_id, 4242)
    const forged = `${origin}-forged`
    const source = { project: 'vision', host: 'alpha' }
    await stage.send(stage.member, [startOf({ id: forged, source }, { rerun_of: origin, cmd_id })])
    // Nor do their events about a batch of the owner: that batch is not a rerun.
    const plain = await batchOf(stage.batchOwner, 'alpha')
    await stage.send(stage.member, [startOf({ id: plain, source, timestamp: far }, { rerun_of: origin })])
    for (const id of [forged, plain]) {
      await stage.app.call('POST', `/api/batches/${id}/stop`, { token: stage.owner.token })
    }
    expect(await waiting()).toEqual(new Map())
    await agent.say(`jobs/${cmd_id}/result`, { exit_code: 0 })
  })
})

describe('an agent', () => {
  test('reads, claims and answers only its own commands', async () => {
    const id = await batchOf(stage.batchOwner, 'alpha')
    const { cmd_id } = (await rerun(id, stage.batchOwner.token)).body
    const home = agentOf(stage.batchOwner, 'alpha')
    for (const agent of agents.values()) {
      if (agent === home) continue
      for (const [path, body] of [
        ['claim', undefined],
        ['ack', { pid: 1 }],
        ['steps', { steps: [{ step: 'sigkill' }] }],
        ['result', { exit_code: 0 }],
      ] as const) {
        expect((await agent.say(`jobs/${cmd_id}/${path}`, body)).body.code).toBe('command_not_found')
        const asHome = await stage.app.call('POST', `/api/agents/${home.id}/jobs/${cmd_id}/${path}`, {
          token: agent.token,
          body,
        })
        expect(asHome.status).toBe(404)
      }
    }
    const { items } = (await stage.get(`/api/batches/${id}/commands`, stage.batchOwner.token)).body
    expect(items).toMatchObject([{ cmd_id, state: 'pending' }])
    await sweep()
  })

  test('of a disabled user, or a revoked one, gets no commands', async () => {
    const id = await batchOf(stage.member, 'beta')
    const patch = (disabled: boolean) =>
      stage.app.call('PATCH', `/api/admin/users/${stage.member.id}`, {
        token: stage.admin.token,
        body: { disabled },
      })
    await patch(true)
    expect((await rerun(id, stage.owner.token)).body.code).toBe('agent_offline')
    expect((await agentOf(stage.member, 'beta').jobs()).status).toBe(401)
    await patch(false)
    // The agent's token was revoked for good: it is back once its owner has registered it again.
    expect((await rerun(id, stage.owner.token)).body.code).toBe('agent_offline')
    const credentials = { email: stage.member.email, password: PASSWORD }
    const again = await stage.app.call('POST', '/api/auth/login', { body: credentials })
    for (const host of HOSTS) {
      const agent = await registerAgent(stage.app, again.body.token, host)
      agents.set(`${stage.member.name} ${host}`, agent)
    }
    expect((await rerun(id, stage.owner.token)).status).toBe(202)
    await sweep()
  })
})

test('visitors of a public project get nothing about agents and commands', async () => {
  const id = `fenced-${++batches}`
  const source = { project: 'open', host: 'alpha' }
  await stage.send(stage.batchOwner, [startOf({ id, source }, { command: 'python mine.py', cwd: '/mine' })])
  await rerun(id, stage.batchOwner.token)
  for (const path of ['commands', 'timeline']) {
    expect((await stage.get(`/api/batches/${id}/${path}`)).status).toBe(401)
    expect((await stage.get(`/api/batches/${id}/${path}`, stage.stranger.token)).status).toBe(403)
    expect(
      (await stage.get(`/api/batches/${id}/${path}`, stage.viewer.token)).body.items.length,
    ).toBeGreaterThan(0)
  }
  await sweep()
})
