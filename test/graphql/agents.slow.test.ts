import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { ask, nodesOf, post } from './asking.ts'

// Hosts and the commands of their agents (contract §5, §6): the same values and rights as in REST.

let stage: Stage
const agents: Record<string, string> = {}
beforeAll(async () => {
  stage = await openStage()
  for (const who of ['batchOwner', 'stranger'] as const) {
    const body = { hostname: 'box1', capabilities: { gpus: 2 }, version: '1.0' }
    const made = await stage.app.call('POST', '/api/agents/register', { token: stage[who].token, body })
    agents[who] = made.body.agent_id
  }
  const source = { project: 'vision', host: 'box1', command: 'python train.py' }
  await stage.send(stage.batchOwner, [startOf({ id: 'b', source }, { cwd: '/tmp' })])
  for (let i = 0; i < 3; i++) {
    const answer = await stage.app.call('POST', '/api/batches/b/rerun', {
      token: stage.batchOwner.token,
      body: {},
    })
    if (answer.status !== 202) throw new Error(JSON.stringify(answer.body))
    // A second one is queued only once the first is over.
    await stage.app
      .sql`update agent_commands set state = 'done', pid = 4242, exit_code = 0 where state = 'pending'`
  }
})
afterAll(() => stage?.stop())

test('hosts are the same as in REST: each user has its own, an administrator all', async () => {
  const query = `{ hosts { totalCount edges { cursor node {
    id hostname capabilities version owner { id name } online lastSeenAt registeredAt revokedAt pollIntervalS pendingCommands
    running { cmdId pid }
  } } } }`
  const { hosts } = await ask(stage.app, query, { token: stage.batchOwner.token })
  const [shown] = (await stage.get('/api/hosts', stage.batchOwner.token)).body.items
  expect(nodesOf(hosts)).toEqual([
    {
      id: agents.batchOwner,
      hostname: shown.hostname,
      capabilities: shown.capabilities,
      version: shown.version,
      owner: shown.owner,
      online: shown.online,
      lastSeenAt: shown.last_seen_at,
      registeredAt: shown.registered_at,
      revokedAt: null,
      pollIntervalS: shown.poll_interval_s,
      pendingCommands: shown.pending_commands,
      running: [],
    },
  ])
  expect(hosts.totalCount).toBe(1)
  expect((await ask(stage.app, query, { token: stage.admin.token })).hosts.totalCount).toBe(2)
  expect((await ask(stage.app, query, { token: stage.member.token })).hosts).toEqual({
    totalCount: 0,
    edges: [],
  })
  expect((await ask(stage.app, query)).hosts).toEqual({ totalCount: 0, edges: [] })
})

test('hosts are listed in pages', async () => {
  const query =
    'query ($after: String) { hosts(first: 1, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } } }'
  const first = (await ask(stage.app, query, { token: stage.admin.token })).hosts
  const variables = { after: first.pageInfo.endCursor }
  const second = (await ask(stage.app, query, { token: stage.admin.token, variables })).hosts
  expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false])
  expect([...nodesOf(first), ...nodesOf(second)].map(({ id }) => id).toSorted()).toEqual(
    Object.values(agents).toSorted(),
  )
})

test('the commands of a batch are the same as in REST, in pages', async () => {
  const query = `query ($first: Int!, $after: String) { batch(id: "b") { agentCommands(first: $first, after: $after) {
    totalCount pageInfo { hasNextPage endCursor }
    edges { node { cmdId kind state failureReason exitCode pid createdAt ackedAt hostId requestedBy { name } } }
  } } }`
  const asked = (variables: Record<string, unknown>) =>
    ask(stage.app, query, { token: stage.viewer.token, variables }).then(({ batch }) => batch.agentCommands)
  const whole = await asked({ first: 10 })
  const { items } = (await stage.get('/api/batches/b/commands', stage.viewer.token)).body
  expect(whole.totalCount).toBe(3)
  expect(nodesOf(whole)).toEqual(
    // biome-ignore lint/suspicious/noExplicitAny: any answer of REST
    items.map((item: any) => ({
      cmdId: item.cmd_id,
      kind: 'RERUN',
      state: 'DONE',
      failureReason: null,
      exitCode: 0,
      pid: 4242,
      createdAt: item.created_at,
      ackedAt: item.acked_at,
      hostId: agents.batchOwner,
      requestedBy: { name: 'batch-owner' },
    })),
  )
  const first = await asked({ first: 2 })
  const second = await asked({ first: 2, after: first.pageInfo.endCursor })
  expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false])
  expect([...nodesOf(first), ...nodesOf(second)]).toEqual(nodesOf(whole))
  const { body } = await post(stage.app, query, {
    token: stage.viewer.token,
    variables: { first: 1, after: 'no' },
  })
  expect(body.errors[0].extensions.code).toBe('invalid_cursor')
})
