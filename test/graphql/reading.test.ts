import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { ask, nodesOf, post } from './asking.ts'

// Entities over GraphQL (contract §6): names, and the same values as in REST.

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  const source = {
    project: 'vision',
    host: 'box1',
    user: 'kim',
    commit: 'abc1234',
    command: 'python train.py',
  }
  const of = { batch_id: 'b1', source }
  const job = { ...of, job_id: 'j1' }
  await stage.send(stage.batchOwner, [
    startOf({ id: 'b1', source }, { n_total: 3, tags: ['night'], cwd: '/home/kim' }),
    makeEvent('job_start', {
      ...job,
      data: { model: 'resnet', dataset: 'cifar', lr: 0.01, opt: { name: 'sgd' } },
    }),
    ...[0, 1, 2].map((epoch) =>
      makeEvent('job_epoch', {
        ...job,
        data: {
          epoch,
          train_loss: epoch === 1 ? 'NaN' : epoch / 2,
          lr: 0.01,
          acc: { top1: 0.5 + epoch / 10 },
        },
      }),
    ),
    makeEvent('log_line', { ...job, data: { line: 'first', level: 'info' } }),
    makeEvent('log_line', { ...job, data: { line: 'second', level: 'error' } }),
    makeEvent('resource_snapshot', { ...job, data: { gpu_util_pct: 90, ram_mb: 1000 } }),
    makeEvent('job_done', { ...job, data: { metrics: { acc: 0.7, loss: 'Infinity' }, elapsed_s: 12.5 } }),
    makeEvent('job_start', { ...of, job_id: 'j2' }),
  ])
})
afterAll(() => stage?.stop())

const rest = async (path: string) => (await stage.get(path, stage.viewer.token)).body

const BATCH = `{
  id nodeId project { slug } status stalled stopRequested owner { id name } host hostId user commit command
  experimentType tags notes nTotal nDone nFailed nRunning slots { total started finished } startedAt endedAt lastSeenAt
  failureReason envSnapshot { commit command cwd hostname } rerunOf can { stop rerun delete share edit }
  health { status stalled lastSeenAt thresholdS idleJobs reasons } eta { etaS lowS highS etaAt nSamples basis }
}`

describe('a batch', () => {
  test('has the same values as in REST', async () => {
    const shown = await rest('/api/batches/b1')
    const { batch } = await ask(stage.app, `{ batch(id: "b1") ${BATCH} }`, { token: stage.viewer.token })
    expect(batch).toMatchObject({
      id: 'b1',
      project: { slug: shown.project },
      status: shown.status.toUpperCase(),
      stalled: shown.stalled,
      stopRequested: shown.stop_requested,
      owner: shown.owner,
      host: shown.host,
      hostId: shown.host_id,
      user: shown.user,
      commit: shown.commit,
      command: shown.command,
      experimentType: shown.experiment_type,
      tags: shown.tags,
      notes: shown.notes,
      nTotal: shown.n_total,
      nDone: shown.n_done,
      nFailed: shown.n_failed,
      nRunning: shown.n_running,
      slots: shown.slots,
      startedAt: shown.started_at,
      endedAt: shown.ended_at,
      lastSeenAt: shown.last_seen_at,
      failureReason: shown.failure_reason,
      envSnapshot: shown.env_snapshot,
      rerunOf: shown.rerun_of,
      can: shown.can,
    })
    const health = await rest('/api/batches/b1/health')
    expect(batch.health).toEqual({
      status: health.status,
      stalled: health.stalled,
      lastSeenAt: health.last_seen_at,
      thresholdS: health.threshold_s,
      idleJobs: health.idle_jobs,
      reasons: health.reasons,
    })
    const eta = await rest('/api/batches/b1/eta')
    expect(batch.eta).toMatchObject({ nSamples: eta.n_samples, basis: eta.basis })
  })

  test('with an unknown or an invalid id is null without an error', async () => {
    for (const id of ['nothing', '', 'a\u0000b', '\ud800', 'x'.repeat(5000)]) {
      const query = 'query ($id: ID!) { batch(id: $id) { id } }'
      expect(await ask(stage.app, query, { token: stage.viewer.token, variables: { id } })).toEqual({
        batch: null,
      })
    }
  })
})

describe('a job', () => {
  const JOB = `{
    jobId key batchId status model dataset params finalMetrics latest startedAt endedAt elapsedS epochs failureReason idle
    eta { etaS } metrics(keys: ["train_loss"]) { job key steps values totalPoints returnedPoints sampled }
  }`

  test('has the same values as in REST, with NaN and infinities as strings', async () => {
    const [, shown] = (await rest('/api/batches/b1/jobs')).items
    const { job } = await ask(stage.app, `{ job(batchId: "b1", id: "j1") ${JOB} }`, {
      token: stage.viewer.token,
    })
    expect(job).toEqual({
      jobId: 'j1',
      key: shown.key,
      batchId: 'b1',
      status: 'COMPLETED',
      model: 'resnet',
      dataset: 'cifar',
      params: shown.params,
      finalMetrics: { acc: 0.7, loss: 'Infinity' },
      latest: { epoch: 2, train_loss: 1, lr: 0.01, 'acc/top1': 0.7 },
      startedAt: shown.started_at,
      endedAt: shown.ended_at,
      elapsedS: 12.5,
      epochs: 3,
      failureReason: null,
      idle: false,
      eta: { etaS: null },
      metrics: [
        {
          job: 'j1',
          key: 'train_loss',
          steps: [0, 1, 2],
          values: [0, 'NaN', 1],
          totalPoints: 3,
          returnedPoints: 3,
          sampled: false,
        },
      ],
    })
  })

  test('that does not exist is null without an error', async () => {
    const query = '{ a: job(batchId: "b1", id: "no") { key } b: job(batchId: "no", id: "j1") { key } }'
    expect(await ask(stage.app, query, { token: stage.viewer.token })).toEqual({ a: null, b: null })
  })
})

test('metrics, resources and log lines are the same as in REST', async () => {
  const query = `{ batch(id: "b1") {
    metrics { job key steps values totalPoints returnedPoints sampled nonFinite }
    resources { job key steps timestamps values totalPoints returnedPoints sampled nonFinite }
    logLines { totalCount edges { node { dbId timestamp jobId level stream line } } }
    jobs { edges { node { jobId metrics { key values } resources { key values } logLines(level: "error") { totalCount edges { node { line } } } } } }
  } }`
  const { batch } = await ask(stage.app, query, { token: stage.viewer.token })
  // biome-ignore lint/suspicious/noExplicitAny: any answer of REST
  const renamed = ({ job_id, total_points, returned_points, non_finite, ...same }: any) => ({
    job: job_id,
    totalPoints: total_points,
    returnedPoints: returned_points,
    nonFinite: non_finite,
    ...same,
  })
  const metrics = (await rest('/api/batches/b1/metrics')).series
  expect(metrics).toHaveLength(3)
  expect(batch.metrics).toEqual(metrics.map(renamed))
  expect(batch.resources).toEqual((await rest('/api/batches/b1/resources')).series.map(renamed))
  // biome-ignore lint/suspicious/noExplicitAny: any answer of REST
  const lines = (await rest('/api/batches/b1/log-lines')).items.map(({ db_id, job_id, ...same }: any) => ({
    dbId: String(db_id),
    jobId: job_id,
    ...same,
  }))
  expect(nodesOf(batch.logLines)).toEqual(lines)
  expect(batch.logLines.totalCount).toBe(2)
  const [, j1] = nodesOf(batch.jobs)
  expect(j1.metrics).toHaveLength(3)
  expect(j1.resources.map(({ key }: { key: string }) => key)).toEqual(['gpu_util_pct', 'ram_mb'])
  expect(j1.logLines).toEqual({ totalCount: 1, edges: [{ node: { line: 'second' } }] })
})

describe('nodes', () => {
  test('of every type are found by their ids, by users who can read them', async () => {
    const query = `{ project(slug: "vision") { nodeId } batch(id: "b1") { nodeId } job(batchId: "b1", id: "j1") { nodeId } }`
    const found = await ask(stage.app, query, { token: stage.viewer.token })
    const ids = [found.project.nodeId, found.batch.nodeId, found.job.nodeId]
    const again = `query ($ids: [ID!]!) { nodes(ids: $ids) {
      __typename nodeId ... on Project { slug } ... on Batch { id } ... on Job { jobId }
    } }`
    expect(await ask(stage.app, again, { token: stage.viewer.token, variables: { ids } })).toEqual({
      nodes: [
        { __typename: 'Project', nodeId: ids[0], slug: 'vision' },
        { __typename: 'Batch', nodeId: ids[1], id: 'b1' },
        { __typename: 'Job', nodeId: ids[2], jobId: 'j1' },
      ],
    })
    expect(await ask(stage.app, again, { token: stage.stranger.token, variables: { ids } })).toEqual({
      nodes: [null, null, null],
    })
  })

  test('with an unknown id are null', async () => {
    const query = 'query ($id: ID!) { node(id: $id) { nodeId } }'
    for (const name of ['Batch:none', 'Job:none', 'Job:["a"]', 'Project:none', 'Batch:\u0000']) {
      const id = Buffer.from(name).toString('base64')
      const { body } = await post(stage.app, query, { token: stage.viewer.token, variables: { id } })
      expect(body.data, name).toEqual({ node: null })
    }
  })
})

test('the viewer is the caller, and null without a sign-in', async () => {
  const query = '{ viewer { id name email role } }'
  const { viewer } = await ask(stage.app, query, { token: stage.member.token })
  expect(viewer).toEqual({ id: stage.member.id, name: 'member', email: 'member@example.org', role: 'USER' })
  expect(await ask(stage.app, query)).toEqual({ viewer: null })
})

test('a project shows its members to its members', async () => {
  const query = `{ project(slug: "vision") {
    slug displayName visibility owner { name } role members { user { name } email role } recipients
  } }`
  const { project } = await ask(stage.app, query, { token: stage.viewer.token })
  expect(project).toMatchObject({
    slug: 'vision',
    displayName: 'vision',
    visibility: 'PRIVATE',
    owner: { name: 'owner' },
    role: 'VIEWER',
    recipients: [],
  })
  expect(project.members.map((m: { role: string }) => m.role)).toEqual([
    'OWNER',
    'MEMBER',
    'MEMBER',
    'VIEWER',
  ])
})

test('the dashboard has the same counts as REST', async () => {
  const shown = await rest('/api/dashboard/summary?project=vision')
  const query =
    '{ dashboard(project: "vision") { running completed failed stopped stalled idle gpuHours idleGpuHours } }'
  const { dashboard } = await ask(stage.app, query, { token: stage.viewer.token })
  expect(dashboard).toEqual({
    running: shown.running,
    completed: shown.completed,
    failed: shown.failed,
    stopped: shown.stopped,
    stalled: shown.stalled,
    idle: shown.idle,
    gpuHours: shown.gpu_hours,
    idleGpuHours: shown.idle_gpu_hours,
  })
})

test('the cursor of the stream is a number in a string', async () => {
  expect(await ask(stage.app, '{ streamCursor }')).toEqual({ streamCursor: expect.stringMatching(/^\d+$/) })
})
