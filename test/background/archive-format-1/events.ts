/** The events of the batch that is archived here: written by the release before format 2, the first batch of its database. */
const at = (n: number): string => new Date(Date.UTC(2026, 2, 1, 10) + n * 1_000).toISOString()

let n = 0
const event = (event_type: string, job_id: string | null, data: Record<string, unknown>) => {
  const id = ++n
  return {
    event_id: `00000000-0000-7000-8000-${String(id).padStart(12, '0')}`,
    schema_version: '1.1',
    event_type,
    timestamp: at(id),
    batch_id: 'archived-before',
    job_id,
    source: { project: 'vision' },
    data,
  }
}
const epochs = (job: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) =>
    event('job_epoch', job, {
      epoch: from + i,
      loss: 1 / (from + i + 1),
      lr: 3e-7,
      ...(i % 2 && { acc: i / 3 }),
    }),
  )

export const archivedEvents = [
  event('batch_start', null, { experiment_type: 'sweep', n_total: 2 }),
  event('job_start', 'a', { model: 'resnet' }),
  ...epochs('a', 0, 40),
  event('job_start', 'a', { model: 'resnet' }),
  ...epochs('a', 30, 20),
  event('resource_snapshot', 'a', { gpu_util_pct: 91.5 }),
  event('resource_snapshot', 'a', { gpu_util_pct: 90.25 }),
  event('log_line', 'a', { line: 'é 𝄞', level: 'info' }),
  event('job_done', 'a', { metrics: { acc: 0.9 } }),
  event('job_start', 'b', {}),
  ...epochs('b', 0, 3),
  event('job_failed', 'b', { reason: 'ValueError', elapsed_s: 5 }),
  event('batch_done', null, { n_done: 1, n_failed: 1, total_elapsed_s: 60 }),
]
