import { expect } from 'vitest'
import type { Stage } from '../http/stage.ts'
import { makeEvent, type TestEvent } from '../ingest/sending.ts'

const BEGAN = Date.UTC(2026, 2, 1, 10)
/** So many seconds after ten o'clock. */
export const at = (seconds: number): string =>
  new Date(BEGAN + seconds * 1000).toISOString().replace(/\.000Z$/, 'Z')
export const of =
  (batch_id: string, job_id: string | null = 'a', project = 'vision') =>
  (type: TestEvent['event_type'], seconds: number, data: Record<string, unknown> = {}) =>
    makeEvent(type, { batch_id, job_id, source: { project }, timestamp: at(seconds), data })

export const path = (batch: string, job = 'a'): string =>
  `/api/batches/${encodeURIComponent(batch)}/jobs/${encodeURIComponent(job)}/attempts`

/** What a viewer of the project reads, or the holder of the token. */
export function reader(stage: Stage) {
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the answer's shape; that is its very purpose
  const get = async (where: string, token = stage.viewer.token): Promise<any> => {
    const { status, body } = await stage.get(where, token)
    expect([status, body.detail]).toEqual([200, undefined])
    return body
  }
  return {
    get,
    send: (events: unknown[]) => stage.send(stage.batchOwner, events),
    listed: async (batch: string, job = 'a', token?: string) => (await get(path(batch, job), token)).items,
  }
}

/** A job that ran to epoch 9, was killed, went on from 6 with other values, failed, and went on from 8 to its end. */
export function restarted(batch: string, job = 'a', project = 'vision') {
  const one = of(batch, job, project)
  const epochs = (attempt: number, from: number, to: number, since: number) =>
    Array.from({ length: to - from + 1 }, (_, i) =>
      one('job_epoch', since + i, {
        epoch: from + i,
        loss: attempt * 100 + from + i,
        ...(attempt === 1 && { lr: 0.1 }),
      }),
    )
  return [
    of(batch, null, project)('batch_start', 0),
    one('job_start', 0, { lr: 0.1 }),
    ...epochs(1, 0, 9, 1),
    one('job_start', 100),
    ...epochs(2, 6, 10, 101),
    one('job_failed', 110, { reason: 'CUDA out of memory', elapsed_s: 10 }),
    one('job_start', 200),
    ...epochs(3, 8, 11, 201),
    one('job_done', 210, { elapsed_s: 10.5 }),
  ]
}
