import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDashboardCache } from '../../src/domain/dashboard/cache.ts'
import { randomFrom } from '../../src/domain/random.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { tellSeed } from '../kit/effort.ts'

// The cache must equal the stored data after any changes between two reads, by any server.
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const LIVES = 12
const STEPS = 60

test('a cache that applied every change has the same counts as a new one', async () => {
  const draw = randomFrom(tellSeed('dashboard memory'))
  const one = <T>(list: readonly T[]): T => list[Math.floor(draw() * list.length)] as T
  const ids = Array.from({ length: LIVES }, (_, i) => `life ${i}`)
  const call = (method: string, path: string) => stage.app.call(method, path, { token: stage.admin.token })
  const about = (id: string, type: Parameters<typeof makeEvent>[0], data = {}) =>
    stage.send(stage.batchOwner, [
      makeEvent(type, {
        batch_id: id,
        job_id: type.startsWith('batch') ? null : one(['a', 'b']),
        source: { project: 'vision' },
        timestamp: new Date(Date.now() - Math.floor(draw() * 3e8)).toISOString(),
        data,
      }),
    ])
  const deeds: ((id: string) => Promise<unknown>)[] = [
    (id) => stage.send(stage.batchOwner, [startOf({ id })]),
    (id) => about(id, 'job_start'),
    (id) => about(id, 'job_done'),
    (id) => about(id, 'job_failed', { reason: 'x', elapsed_s: 1 }),
    (id) => about(id, 'resource_snapshot', { gpu_util_pct: one([0, 90]) }),
    (id) => about(id, 'batch_done', { n_done: 1, n_failed: 0, total_elapsed_s: 5 }),
    (id) => about(id, 'batch_failed', { reason: 'x', total_elapsed_s: 5 }),
    (id) => call('DELETE', `/api/batches/${id}`),
    (id) => call('POST', `/api/batches/${id}/restore`),
  ]
  const memory = createDashboardCache()
  const now = new Date()
  for (let step = 0; step < STEPS; step++) {
    for (let n = 0; n < 3; n++) await one(deeds)(one(ids))
    const { used, idle, ...counts } = await memory.of(stage.app.sql, null, now)
    const {
      used: usedAnew,
      idle: idleAnew,
      ...fresh
    } = await createDashboardCache().of(stage.app.sql, null, now)
    expect(counts).toEqual(fresh)
    // GPU time is summed again only after a pause that grows with the duration of the last sum.
    if (step < STEPS - 1) continue
    expect([used, idle].every((seconds) => seconds >= 0)).toBe(true)
    expect([usedAnew, idleAnew].every((seconds) => seconds >= 0)).toBe(true)
  }
})

test('a cache reads everything again if its changes are no longer in the change log', async () => {
  const memory = createDashboardCache()
  const now = new Date()
  const before = await memory.of(stage.app.sql, null, now)
  await stage.send(stage.batchOwner, [startOf({ id: 'unlogged' })])
  await stage.app.sql`delete from changes where seq < (select max(seq) from changes)`
  await stage.send(stage.batchOwner, [startOf({ id: 'logged' })])
  expect((await memory.of(stage.app.sql, null, now)).running).toBe(before.running + 2)
})
