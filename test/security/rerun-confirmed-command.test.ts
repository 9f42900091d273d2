import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerAgent, type TestAgent } from '../agents/agent.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'

// A rerun executes the command that was shown to the user who requested it, or nothing (contract §10).

let stage: Stage
let agent: TestAgent
beforeAll(async () => {
  stage = await openStage()
  agent = await registerAgent(stage.app, stage.batchOwner.token, 'alpha')
  const source = { project: 'vision', host: 'alpha' }
  await stage.send(stage.batchOwner, [
    startOf({ id: 'b', source }, { command: 'python träin.py', cwd: '/mine' }),
  ])
})
afterAll(() => stage?.stop())

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const rerun = (body: Record<string, unknown>, token = stage.batchOwner.token) =>
  stage.app.call('POST', '/api/batches/b/rerun', { token, body })
async function jobs() {
  const { jobs } = (await agent.jobs()).body
  for (const { cmd_id } of jobs) await agent.say(`jobs/${cmd_id}/ack`, { failure_reason: 'swept' })
  return jobs
}

test('a rerun with the hash of the recorded command is accepted', async () => {
  expect((await rerun({ confirm: sha256('python träin.py') })).status).toBe(202)
  expect((await rerun({ confirm: sha256('python träin.py').toUpperCase() })).status).toBe(202)
  expect((await rerun({ confirm: sha256('python träin.py') }, stage.admin.token)).status).toBe(202)
  expect(await jobs()).toHaveLength(3)
})

test('any other hash is 409 command_changed, and nothing is queued', async () => {
  for (const token of [stage.batchOwner.token, stage.owner.token, stage.admin.token]) {
    const { status, body } = await rerun({ confirm: sha256('python train.py') }, token)
    expect([status, body.code]).toEqual([409, 'command_changed'])
  }
  expect(await jobs()).toEqual([])
})

test('with an override the hash is that of the given command', async () => {
  const command = 'python other.py'
  expect((await rerun({ command, confirm: sha256('python träin.py') })).body.code).toBe('command_changed')
  expect((await rerun({ command, confirm: sha256(command) })).status).toBe(202)
  expect(await jobs()).toMatchObject([{ command }])
})

test('an invalid hash is refused', async () => {
  for (const confirm of ['', 'x'.repeat(64), sha256('a').slice(1), 5, null]) {
    expect((await rerun({ confirm })).status).toBe(422)
  }
})

test('a request without a hash still works', async () => {
  expect((await rerun({})).status).toBe(202)
  expect(await jobs()).toHaveLength(1)
})

test('a command says whether it must match the record of the agent or was given by the owner in a session', async () => {
  await rerun({})
  await rerun({ cwd: '/elsewhere' })
  await rerun({ command: 'python other.py' })
  await rerun({}, stage.admin.token)
  expect((await jobs()).map((job: Record<string, unknown>) => [job.authorized_by, job.overridden])).toEqual([
    ['record', []],
    ['record', ['cwd']],
    ['owner_words', ['command']],
    ['record', []],
  ])
})

test('no token of a program can confirm for the owner', async () => {
  for (const token of [stage.batchOwner.reporter, stage.batchOwner.read, agent.token]) {
    expect((await rerun({ command: 'evil' }, token)).status).toBe(403)
  }
  expect(await jobs()).toEqual([])
})

test('a refusal of the agent is in the timeline', async () => {
  const { cmd_id } = (await rerun({})).body
  await agent.say(`jobs/${cmd_id}/ack`, { failure_reason: 'command_not_recorded_here' })
  const { items } = (await stage.get('/api/batches/b/timeline', stage.viewer.token)).body
  expect(items).toContainEqual(
    expect.objectContaining({
      cmd_id,
      step: 'failed',
      detail: { failure_reason: 'command_not_recorded_here' },
    }),
  )
})
