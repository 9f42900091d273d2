import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerAgent } from '../agents/agent.ts'
import { openStage, type Person, type Stage, startOf } from '../http/stage.ts'

// What the owner of a batch gave as a command may contain a secret: no other user reads it (contract §10).

const SECRET = 'hunter2-s3cret'
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await registerAgent(stage.app, stage.batchOwner.token, 'alpha')
  const source = { project: 'vision', host: 'alpha' }
  await stage.send(stage.batchOwner, [startOf({ id: 'b', source }, { command: 'python a.py', cwd: '/mine' })])
  await stage.app.call('POST', '/api/batches/b/rerun', {
    token: stage.batchOwner.token,
    body: { command: `python a.py --password ${SECRET}` },
  })
})
afterAll(() => stage?.stop())

const others = (): Person[] => [stage.admin, stage.owner, stage.member, stage.viewer]
const read = async (by: Person) => ({
  commands: (await stage.get('/api/batches/b/commands', by.token)).body,
  timeline: (await stage.get('/api/batches/b/timeline', by.token)).body,
  graphql: (
    await stage.app.call('POST', '/graphql', {
      token: by.token,
      body: {
        query:
          '{ batch(id: "b") { agentCommands(first: 5) { edges { node { cmdId command } } } timeline { step detail } } }',
      },
    })
  ).body,
})

test('the owner of the batch can read the command', async () => {
  const { commands, graphql } = await read(stage.batchOwner)
  expect(commands.items[0].command).toContain(SECRET)
  expect(graphql.data.batch.agentCommands.edges[0].node.command).toContain(SECRET)
})

test('no other user can, in commands, timeline and GraphQL', async () => {
  for (const person of others()) {
    const all = await read(person)
    expect(all.commands.items[0].command).toBe('[redacted]')
    expect(all.graphql.data.batch.agentCommands.edges[0].node.command).toBe('[redacted]')
    expect(JSON.stringify(all)).not.toContain(SECRET)
  }
})

test('an administrator cannot in the audit log, by REST or GraphQL', async () => {
  const log = await stage.get('/api/admin/audit?subject=batch:b', stage.admin.token)
  expect(log.body.items).toContainEqual(
    expect.objectContaining({
      action: 'batch.rerun_requested',
      detail: expect.objectContaining({ command: '[redacted]' }),
    }),
  )
  const graphql = await stage.app.call('POST', '/graphql', {
    token: stage.admin.token,
    body: { query: '{ audit(first: 50) { edges { node { action detail } } } }' },
  })
  expect(JSON.stringify([log.body, graphql.body])).not.toContain(SECRET)
})

test('an administrator can read the commands of its own batches in the audit log', async () => {
  await registerAgent(stage.app, stage.admin.token, 'alpha')
  const source = { project: 'vision', host: 'alpha' }
  await stage.send(stage.admin, [startOf({ id: 'mine', source }, { command: 'python a.py', cwd: '/mine' })])
  await stage.app.call('POST', '/api/batches/mine/rerun', { token: stage.admin.token, body: {} })
  const log = await stage.get('/api/admin/audit?subject=batch:mine', stage.admin.token)
  expect(log.body.items[0].detail.command).toBe('python a.py')
})
