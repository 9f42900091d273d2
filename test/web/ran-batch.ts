import type { Page } from '@playwright/test'
import { expect } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import type { TestApp } from '../kit/app.ts'
import { type Event, send } from './visit.ts'

type Type = Parameters<typeof makeEvent>[0]

/** Events of one batch, each so many seconds ago. */
export function eventsOf(batchId: string, source: Record<string, unknown> = {}) {
  const now = Date.now()
  const at = (agoS: number): string => new Date(now - agoS * 1000).toISOString()
  return (type: Type, agoS: number, data: Record<string, unknown> = {}, job?: string): Event =>
    makeEvent(type, {
      batch_id: batchId,
      timestamp: at(agoS),
      source: { project: 'digits', host: 'box7', commit: 'abc1234', ...source },
      data,
      ...(job !== undefined && { job_id: job }),
    }) as unknown as Event
}

export const COMMAND = 'python train.py --lr 0.1'

/** A batch of four planned jobs that failed an hour ago: one completed, one failed, one is lost, one never began. */
export async function sendRanBatch(app: TestApp, reporter: string, batchId: string): Promise<void> {
  const of = eventsOf(batchId)
  const start = {
    experiment_type: 'sweep',
    n_total: 4,
    command: COMMAND,
    cwd: '/home/ada/digits',
    env_snapshot: {
      command: COMMAND,
      cwd: '/home/ada/digits',
      hostname: 'box7',
      commit: 'abc1234',
      branch: 'main',
      dirty: true,
      python_version: '3.12.1',
    },
  }
  const epochs = (job: string, loss: number): Event[] =>
    Array.from({ length: 20 }, (_, n) =>
      of('job_epoch', 3500 - n * 10, { epoch: n, val_loss: loss / (n + 1) }, job),
    )
  await send(app, reporter, [
    of('batch_start', 3600, start),
    ...['good', 'bad', 'gone'].map((job, i) =>
      of('job_start', 3590, { model: 'mlp', lr: 0.1 * (i + 1), depth: 2 }, job),
    ),
    ...epochs('good', 1),
    ...epochs('bad', 2).slice(0, 8),
    ...epochs('gone', 3).filter((_, n) => n < 4 || n > 6),
    of('log_line', 3495, { line: 'begun \u001b[31mred\u001b[0m <b>not bold</b>', level: 'info' }, 'good'),
    of('log_line', 3395, { line: 'lr dropped to 0.01', level: 'warning' }, 'good'),
    of('log_line', 3390, { line: 'out of memory', level: 'error' }, 'bad'),
    ...Array.from({ length: 40 }, (_, n) =>
      of(
        'resource_snapshot',
        3590 - n * 30,
        {
          gpus: [0, 1].map((index) => ({ index, util_pct: n > 10 && n < 30 && index === 1 ? 1 : 80 })),
          cpu_util_pct: 40,
          ram_mb: 2_000,
        },
        'good',
      ),
    ),
    of('job_done', 3300, { metrics: { acc: 0.91 }, train_epochs: 20, elapsed_s: 290 }, 'good'),
    of('job_failed', 3290, { reason: 'CUDA out of memory', elapsed_s: 300 }, 'bad'),
    of('batch_failed', 2400, { reason: 'CUDA out of memory', total_elapsed_s: 1200 }),
  ])
}

/** Once nothing on the page waits for its first answer. */
export const settled = (page: Page): Promise<void> =>
  expect.poll(() => page.locator('[aria-label="Loading"]').count()).toBe(0)
