import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { createClock } from '../kit/clock.ts'
import { registerAgent, type TestAgent } from './agent.ts'

// Which process reports a batch (contract §4, `rerun_of`), where the token of the process does not say it.

let stage: Stage
let agent: TestAgent
const clock = createClock()
beforeAll(async () => {
  stage = await openStage({}, { now: clock.now })
})
afterAll(() => stage?.stop())
let hosts = 0
/** Each test has a host and a batch that ran there of its own. */
let host: string
let batch: string
beforeEach(async () => {
  host = `gpu-${++hosts}`
  batch = `ran-${hosts}`
  agent = await registerAgent(stage.app, stage.batchOwner.token, host)
  const source = { project: 'vision', host }
  const timestamp = clock.now().toISOString()
  const recorded = { command: 'python train.py', cwd: '/home/work' }
  await stage.send(stage.batchOwner, [startOf({ id: batch, source, timestamp }, recorded)])
})
const rerun = (of: string) =>
  stage.app.call('POST', `/api/batches/${of}/rerun`, { token: stage.batchOwner.token })
const commands = async (of: string) =>
  (await stage.get(`/api/batches/${of}/commands`, stage.batchOwner.token)).body.items

describe('a rerun', () => {
  test('is linked to its batch by the events of the reporter even if it uses another token', async () => {
    const { cmd_id } = (await rerun(batch)).body
    await agent.jobs()
    await agent.start(cmd_id, 77)
    const source = { project: 'vision', host }
    const timestamp = clock.now().toISOString()
    const say = (id: string, fields: Record<string, unknown>) =>
      startOf({ id, source: { ...source, ...fields }, timestamp }, { rerun_of: batch })
    await stage.send(stage.member, [say(`${batch}-forged`, {})])
    await stage.send(stage.batchOwner, [say(`${batch}-elsewhere`, { host: 'elsewhere' })])
    expect(await commands(batch)).toMatchObject([{ linked_batch_ids: [] }])
    await stage.send(stage.batchOwner, [say(`${batch}-real`, {})])
    expect(await commands(batch)).toMatchObject([{ linked_batch_ids: [`${batch}-real`] }])
    await agent.say(`jobs/${cmd_id}/result`, { exit_code: 0 })
  })

  test('is linked to its original by its running process if no time matches, without a poll before the ack', async () => {
    const { cmd_id } = (await rerun(batch)).body
    const say = (id: string) =>
      stage.send(stage.batchOwner, [
        startOf(
          { id, source: { project: 'vision', host }, timestamp: '2020-01-01T00:00:00Z' },
          { rerun_of: batch },
        ),
      ])
    await say(`${batch}-before`)
    expect(await commands(batch)).toMatchObject([{ linked_batch_ids: [] }])
    expect((await agent.say(`jobs/${cmd_id}/ack`, { pid: 78 })).status).toBe(200)
    await say(`${batch}-wrong-clock`)
    expect(await commands(batch)).toMatchObject([{ linked_batch_ids: [`${batch}-wrong-clock`] }])
    await agent.say(`jobs/${cmd_id}/result`, { exit_code: 0 })
    // Once it has ended, only the time can identify it.
    await say(`${batch}-late`)
    expect(await commands(batch)).toMatchObject([{ linked_batch_ids: [`${batch}-wrong-clock`] }])
  })
})
