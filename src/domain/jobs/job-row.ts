import { eventSkews, eventSkewsOf } from '../batches/index.ts'
import type { Besides } from '../record-rows.ts'

/**
 * What a row of a job has besides the columns of its fields (`JobRow`), over `j` with `jobJoins`, and in the records of
 * Prisma.
 */
export const besideJob = {
  key: { sql: 'j.key', from: 'key' },
  batch_key: { sql: 'j.batch_key', from: 'batchKey' },
  batch_id: { sql: 'b.id', from: 'batch.id', part: 'batch' },
  reported_s: { sql: 'j.reported_s', from: 'reportedS', part: 'elapsed' },
  last_seen_at: { sql: 's.last_seen_at', from: 'progress.lastSeenAt', part: 'elapsed', instant: true },
  event_skews: {
    sql: eventSkews('bs'),
    from: ['batch.progress.clockSkews', 'batch.progress.lastReceivedAt', 'batch.progress.lastSeenAt'],
    of: eventSkewsOf,
    part: 'elapsed',
  },
  epochs: { sql: 's.epochs', from: 'values.epochs', part: 'progress' },
  max_epoch: { sql: 'coalesce(s.max_step, s.max_epoch)', from: 'values.maxEpoch', part: 'progress' },
  last_values: {
    sql: 'json_build_array(s.series, s.last_value)',
    from: 'values.lastValues',
    part: 'progress',
  },
  best_values: {
    sql: 'json_build_array(s.series, s.min_value, s.max_value)',
    from: 'values.bestValues',
    part: 'best',
  },
  series: { sql: 'to_json(s.series)', from: 'values.series', part: 'series' },
  gpu_first_at: { sql: 's.gpu_first_at', from: 'progress.gpuFirstAt', part: 'idle', instant: true },
  gpu_last_at: { sql: 's.gpu_last_at', from: 'progress.gpuLastAt', part: 'idle', instant: true },
  gpu_busy_at: { sql: 's.gpu_busy_at', from: 'progress.gpuBusyAt', part: 'idle', instant: true },
  gpu_low_samples: { sql: 's.gpu_low_samples', from: 'progress.gpuLowSamples', part: 'idle' },
  batch_gpu_first_at: {
    sql: 'bs.gpu_first_at',
    from: 'batch.progress.gpuFirstAt',
    part: 'idle',
    instant: true,
  },
  batch_gpu_last_at: { sql: 'bs.gpu_last_at', from: 'batch.progress.gpuLastAt', part: 'idle', instant: true },
  batch_gpu_busy_at: { sql: 'bs.gpu_busy_at', from: 'batch.progress.gpuBusyAt', part: 'idle', instant: true },
  batch_gpu_low_samples: { sql: 'bs.gpu_low_samples', from: 'batch.progress.gpuLowSamples', part: 'idle' },
} as const satisfies Besides
