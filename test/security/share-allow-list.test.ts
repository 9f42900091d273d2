import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { BatchView } from '../../src/domain/batches/index.ts'
import type { JobView } from '../../src/domain/jobs/index.ts'
import type { Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStream } from '../live/stream.ts'

// A new field of batches and jobs, without a decision who may see it, is hidden from callers without
// an account: visitors of public projects, share links, anonymous share links; over REST, GraphQL and the stream.

const PLANTED = 'planted-for-members-only'

const BATCH_VIEW = '../../src/domain/batches/view.ts'
const JOB_VIEW = '../../src/domain/jobs/view.ts'

/** The service with such a field. Test files share their modules, so this one loads fresh copies of all. */
async function loadPlanted(): Promise<typeof import('../http/stage.ts')> {
  vi.resetModules()
  vi.doMock(BATCH_VIEW, async (original) => {
    const view = await original<typeof import('../../src/domain/batches/view.ts')>()
    const batchView = (...given: Parameters<typeof view.batchView>): BatchView =>
      Object.assign(view.batchView(...given), { planted: PLANTED })
    return { ...view, batchView }
  })
  vi.doMock(JOB_VIEW, async (original) => {
    const view = await original<typeof import('../../src/domain/jobs/view.ts')>()
    const jobView = (...given: Parameters<typeof view.jobView>): JobView =>
      Object.assign(view.jobView(...given), { planted: PLANTED })
    return { ...view, jobView }
  })
  const { builder } = await import('../../src/graphql/builder.ts')
  const { BatchType } = await import('../../src/graphql/batch.ts')
  const { JobType } = await import('../../src/graphql/job.ts')
  const planted = { nullable: true, description: 'Planted', resolve: () => PLANTED } as const
  builder.objectField(BatchType, 'planted', (t) => t.string(planted))
  builder.objectField(JobType, 'planted', (t) => t.string(planted))
  return import('../http/stage.ts')
}

let stage: Stage
const links: Record<string, string> = {}
beforeAll(async () => {
  const { openStage, startOf } = await loadPlanted()
  stage = await openStage()
  const source = { project: 'open', host: 'gpu-box-7' }
  await stage.send(stage.batchOwner, [
    startOf({ id: 'run', source }),
    makeEvent('job_start', { batch_id: 'run', job_id: 'a', source }),
  ])
  for (const [name, anonymous] of [
    ['share', false],
    ['anonymous', true],
  ] as const) {
    const made = await stage.app.call('POST', '/api/batches/run/shares', {
      token: stage.batchOwner.token,
      body: { anonymous },
    })
    links[name] = made.body.token
  }
})
afterAll(async () => {
  await stage?.stop()
  vi.doUnmock(BATCH_VIEW)
  vi.doUnmock(JOB_VIEW)
  vi.resetModules()
})

test('a new field is shown to members over REST, and hidden from visitors and shares', async () => {
  const paths = [
    '/api/batches/run',
    '/api/batches?project=open',
    '/api/batches/run/jobs',
    '/api/jobs?batch=run',
  ]
  for (const path of paths) {
    const [member, visitor] = [await stage.get(path, stage.member.token), await stage.get(path)]
    expect([member.status, visitor.status], path).toEqual([200, 200])
    expect(JSON.stringify(member.body), path).toContain(PLANTED)
    expect(JSON.stringify(visitor.body), path).not.toContain(PLANTED)
    expect(JSON.stringify(visitor.body), path).toContain('"run"')
  }
  const key = (await stage.get('/api/batches/run/jobs', stage.member.token)).body.items[0].key
  expect((await stage.get(`/api/jobs/${key}`, stage.member.token)).body.planted).toBe(PLANTED)
  expect((await stage.get(`/api/jobs/${key}`)).body).toEqual(
    expect.not.objectContaining({ planted: expect.anything() }),
  )
  for (const token of Object.values(links)) {
    const { status, body } = await stage.get(`/api/shared/${token}`, stage.member.token)
    expect([status, body.jobs.items.length]).toEqual([200, 1])
    expect(JSON.stringify(body)).not.toContain(PLANTED)
  }
})

test('a new field is shown to members over GraphQL, and hidden from visitors and shares', async () => {
  const ask = async (root: string, token?: string) => {
    const query = `{ batch: ${root} { id planted jobs(first: 5) { edges { node { jobId planted } } } } }`
    const body = { query }
    const answer = await stage.app.call('POST', '/graphql', token === undefined ? { body } : { token, body })
    expect(answer.body.errors).toBeUndefined()
    const { batch } = answer.body.data
    return [batch.id, batch.planted, batch.jobs.edges[0].node.jobId, batch.jobs.edges[0].node.planted]
  }
  expect(await ask('batch(id: "run")', stage.member.token)).toEqual(['run', PLANTED, 'a', PLANTED])
  expect(await ask('batch(id: "run")')).toEqual(['run', null, 'a', null])
  for (const token of Object.values(links)) {
    expect(await ask(`sharedBatch(token: "${token}")`)).toEqual(['run', null, 'a', null])
    expect(await ask(`sharedBatch(token: "${token}")`, stage.member.token)).toEqual(['run', null, 'a', null])
  }
})

test('a new field is sent to members on the stream, and hidden from visitors and shares', async () => {
  const { address } = stage.app
  const open = (channels: string[], token?: string) =>
    openStream(address, channels, token === undefined ? {} : { token })
  const member = await open(['batch:run', 'project:open', 'dashboard'], stage.member.token)
  const others = [
    await open(['batch:run', 'project:open', 'dashboard']),
    await open([`share:${links.share}`]),
    await open([`share:${links.anonymous}`]),
  ]
  const source = { project: 'open' }
  await stage.send(stage.batchOwner, [
    makeEvent('job_done', { batch_id: 'run', job_id: 'a', source, data: { metrics: { acc: 0.5 } } }),
  ])
  const summary = ({ data }: { data: { payload: Record<string, unknown> } }) =>
    'batch' in data.payload || 'batches' in data.payload
  await member.find(summary)
  await member.find(({ event }) => event === 'dashboard')
  for (const stream of others) await stream.find(summary)
  await others[0]?.find(({ event }) => event === 'dashboard')
  await others[0]?.find(({ event }) => event === 'project')
  expect(member.text()).toContain(PLANTED)
  for (const stream of others) expect(stream.text()).not.toContain(PLANTED)
  for (const stream of [member, ...others]) stream.cut()
})
