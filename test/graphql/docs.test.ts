import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { post } from './asking.ts'

// What docs/api.md shows of GraphQL works as pasted.

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  const of = { batch_id: 'my-sweep', source: { project: 'vision' } }
  await stage.send(stage.owner, [
    startOf({ id: 'my-sweep' }),
    ...[0.1, 0.001, 0.002].flatMap((lr, n) => [
      makeEvent('job_start', { ...of, job_id: `j${n}`, data: { lr } }),
      makeEvent('job_epoch', { ...of, job_id: `j${n}`, data: { epoch: 0, val_loss: 1 / (n + 1) } }),
    ]),
  ])
})
afterAll(() => stage?.stop())

test('the documented query for the ten best jobs of a small learning rate works', async () => {
  const text = await readFile(new URL('../../docs/api.md', import.meta.url), 'utf8')
  const query = /<!-- example: the ten best -->[\s\S]*?query = """\n([\s\S]*?)"""/.exec(text)?.[1] ?? ''
  const { status, body } = await post(stage.app, query, {
    token: stage.viewer.read,
    variables: { batch: 'my-sweep' },
  })
  expect(status).toBe(200)
  expect(body.data.batch.jobs).toEqual({
    totalCount: 2,
    edges: [{ node: job('j2', 0.002, 1 / 3) }, { node: job('j1', 0.001, 1 / 2) }],
  })
})

const job = (jobId: string, lr: number, loss: number) => ({
  jobId,
  params: { lr },
  latest: { epoch: 0, val_loss: loss },
  metrics: [{ steps: [0], values: [loss] }],
})
