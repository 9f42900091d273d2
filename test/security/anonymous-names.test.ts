import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStream } from '../live/stream.ts'

/** An anonymous share hides user and host in the names of series and parameters, and the short name of the host. */
const source = { project: 'vision', user: 'ada', host: 'gpu-7.lab.example' }
const SECRETS = /(?<![a-z])ada(?![a-z])|gpu-7/i
let stage: Stage
let token: string
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [
    startOf({ id: 'named', source }, { command: 'python train.py --host gpu-7' }),
    makeEvent('job_start', {
      batch_id: 'named',
      job_id: 'a',
      source,
      data: { model: 'resnet', 'gpu-7/lr': 0.1, adam: 1, 'optim/lr': 2, nested: { Ada: 3 } },
    }),
    epoch(0),
    makeEvent('job_done', {
      batch_id: 'named',
      job_id: 'a',
      source,
      data: { metrics: { 'ada/best': 0.9 } },
    }),
  ])
  const path = '/api/batches/named/shares'
  const made = await stage.app.call('POST', path, {
    token: stage.batchOwner.token,
    body: { anonymous: true },
  })
  token = made.body.token
})
afterAll(() => stage?.stop())

function epoch(n: number) {
  const data = { epoch: n, loss: 1, ada_loss: 2, 'GPU-7/loss': 3, 'ada/gpu-7': 4, 'gpu-7/ada': 5, adam: 6 }
  return makeEvent('job_epoch', { batch_id: 'named', job_id: 'a', source, data })
}
const NAMES = ['[hidden]/[hidden]', '[hidden]/[hidden] 2', '[hidden]/loss', '[hidden]_loss', 'adam', 'loss']

const ask = async (query: string, variables: object = {}) => {
  const { body } = await stage.app.call('POST', '/graphql', {
    body: { query, variables: { token, ...variables } },
  })
  expect(body.errors).toBeUndefined()
  return body.data.sharedBatch
}

test('over REST, in parameters, last values, final metrics and texts', async () => {
  const { body } = await stage.get(`/api/shared/${token}`)
  expect(JSON.stringify(body)).not.toMatch(SECRETS)
  expect(body.batch.command).toBe('python train.py --host [hidden]')
  const [job] = body.jobs.items
  expect(job.params).toEqual({ '[hidden]/lr': 0.1, adam: 1, 'optim/lr': 2, nested: { '[hidden]': 3 } })
  expect(
    Object.keys(job.latest)
      .filter((name) => name !== 'epoch')
      .sort(),
  ).toEqual(NAMES)
  expect(job.metrics).toEqual({ '[hidden]/best': 0.9 })
})

test('over GraphQL, and its series are found by the names that it shows', async () => {
  const all = await ask(
    'query($token: String!) { sharedBatch(token: $token) { metrics { key values } jobs(first: 1) { nodes: edges { node { metrics { key values } } } } } }',
  )
  const keys = all.metrics.map(({ key }: { key: string }) => key).sort()
  expect(new Set(keys)).toEqual(
    new Set(['[hidden]/[hidden]', '[hidden]/loss', '[hidden]_loss', 'adam', 'loss']),
  )
  expect(JSON.stringify(all)).not.toMatch(SECRETS)
  const one = await ask(
    'query($token: String!, $keys: [String!]) { sharedBatch(token: $token) { metrics(keys: $keys) { key values } } }',
    { keys: ['[hidden]_loss', 'loss'] },
  )
  expect(one.metrics).toEqual(
    expect.arrayContaining([
      { key: '[hidden]_loss', values: [2] },
      { key: 'loss', values: [1] },
    ]),
  )
  const stored = await ask(
    'query($token: String!) { sharedBatch(token: $token) { metrics(keys: ["ada_loss"]) { key } } }',
  )
  expect(stored.metrics).toEqual([])
})

test('on the stream, and a share that is not anonymous shows them', async () => {
  const open = await stage.app.call('POST', '/api/batches/named/shares', { token: stage.batchOwner.token })
  const streams = await Promise.all(
    [token, open.body.token].map((one) => openStream(stage.app.address, [`share:${one}`], {})),
  )
  await stage.send(stage.batchOwner, [epoch(1)])
  const [hidden, shown] = await Promise.all(
    streams.map((stream) => stream.find(({ data }) => data.type === 'epochs')),
  )
  expect(Object.keys(hidden?.data.payload.points[0].values).sort()).toEqual(NAMES)
  expect(streams[0]?.text()).not.toMatch(SECRETS)
  expect(Object.keys(shown?.data.payload.points[0].values)).toContain('GPU-7/loss')
  for (const stream of streams) stream.cut()
})
