import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'

/**
 * Workers that ask, are killed at random and come back: every trial of the grid is completed, none is lost, and none is
 * handed to a second worker while the first one is alive.
 */
let stage: Stage
let skipMs = 0
beforeAll(async () => {
  stage = await openStage(
    { stallTimeoutMin: 1, lostAfterMin: 2 },
    { now: () => new Date(Date.now() + skipMs) },
  )
})
afterAll(() => stage?.stop())

const WORKERS = 16
const TRIALS = 40

/** The same sequence for a seed (mulberry32), so that a failure can be repeated. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

test.each([
  1, 2,
])('16 workers that are killed at random complete a grid exactly once (seed %i)', async (seed) => {
  const random = randomOf(seed)
  const token = stage.batchOwner.reporter
  const call = (method: 'GET' | 'POST', path: string, body?: object) =>
    stage.app.call(method, path, { token, ...(body && { body }) })
  const { body: sweep } = await call('POST', '/api/projects/vision/sweeps', {
    name: 'Killed',
    method: 'grid',
    metric: { name: 'val_loss', goal: 'minimize' },
    parameters: { n: { min: 0, max: TRIALS - 1 } },
  })
  const held = new Map<number, string>()
  const completed: number[] = []
  const report = (type: Parameters<typeof makeEvent>[0], jobId: string, data: object) =>
    stage.send(stage.batchOwner, [
      makeEvent(type, {
        batch_id: sweep.batch_id,
        job_id: jobId,
        source: { project: 'vision' },
        timestamp: new Date(Date.now() + skipMs).toISOString(),
        data,
      } as never),
    ])
  /** Works until nothing is left or it is killed: then its trial stays open. */
  const work = async (worker: string): Promise<'killed' | 'done'> => {
    for (;;) {
      const { status, body } = await call('POST', `/api/sweeps/${sweep.id}/trials`, { worker })
      if (status === 204) return 'done'
      expect(status).toBe(201)
      expect(held.get(body.number)).toBeUndefined()
      expect(body.params).toEqual({ n: body.number })
      held.set(body.number, worker)
      if (random() < 0.25) return 'killed'
      await report('job_epoch', body.job_id, { epoch: 0, val_loss: body.number })
      if (random() < 0.15) return 'killed'
      await report('job_done', body.job_id, { elapsed_s: 1 })
      held.delete(body.number)
      completed.push(body.number)
    }
  }
  try {
    for (let round = 0; completed.length < TRIALS; round++) {
      expect(round).toBeLessThan(40)
      await Promise.all(Array.from({ length: WORKERS }, (_, i) => work(`${round}-${i}`)))
      // The killed ones were silent for longer than the threshold.
      skipMs += 121_000
      held.clear()
    }
    expect(completed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: TRIALS }, (_, i) => i))
    expect(await work('last')).toBe('done')
    const { body } = await call('GET', `/api/sweeps/${sweep.id}`)
    expect(body).toMatchObject({ state: 'finished', trials: { completed: TRIALS, running: 0, lost: 0 } })
    const batch = (await stage.get(`/api/batches/${sweep.batch_id}`, stage.batchOwner.token)).body
    expect(batch).toMatchObject({ status: 'completed', n_done: TRIALS, n_running: 0 })
  } finally {
    skipMs = 0
  }
})
