import { randomUUID } from 'node:crypto'

/**
 * Events as a busy service sees them: `batches` × `jobs` trainings side by side, nine in ten events an epoch with
 * seven series, the rest log lines and snapshots; about 450 bytes each. Ids are random (version 4), the worst case
 * for the unique index, unless `reporterIds` asks for those that our reporter makes: version 7, time first.
 */
export function* trainingEvents(options: {
  batches: number
  jobs: number
  tag: string
  reporterIds?: boolean
}): Generator<string> {
  const { batches, jobs, tag } = options
  const makeId = options.reporterIds === true ? timedIds() : randomUUID
  const source = {
    project: 'bench',
    host: 'box1',
    user: 'bench',
    commit: 'a1b2c3d',
    command: 'python train.py',
  }
  const start = Date.UTC(2026, 0, 1)
  for (let epoch = 0; ; epoch++) {
    for (let b = 0; b < batches; b++) {
      for (let j = 0; j < jobs; j++) {
        const envelope = {
          event_id: makeId(),
          schema_version: '1.1',
          event_type: 'job_epoch',
          timestamp: new Date(start + epoch * 1000 + j).toISOString(),
          batch_id: `${tag}-batch-${b}`,
          job_id: `job-${j}`,
          source,
        }
        const kind = (epoch * 31 + b * 7 + j) % 20
        if (kind === 0) {
          yield JSON.stringify({
            ...envelope,
            event_type: 'log_line',
            data: {
              line: `epoch ${epoch}: learning rate dropped, loss plateau reached on the validation set`,
              level: 'info',
            },
          })
        } else if (kind === 1) {
          yield JSON.stringify({
            ...envelope,
            event_type: 'resource_snapshot',
            data: {
              gpu_util_pct: 91.5,
              gpu_mem_mb: 20110,
              cpu_util_pct: 44.1,
              ram_mb: 8123.4,
              disk_free_mb: 90211,
            },
          })
        } else {
          const loss = 2 * Math.exp(-epoch / 400) + Math.random() / 10
          yield JSON.stringify({
            ...envelope,
            data: {
              epoch,
              train_loss: loss,
              val_loss: loss * 1.1,
              lr: 3e-4,
              batch_time_ms: 12.5 + Math.random(),
              acc: 1 - loss / 3,
              grad_norm: Math.random() * 3,
              throughput: 900 + Math.random(),
            },
          })
        }
      }
    }
  }
}

/** Events start this long ago: times ahead of the clock are stored as others, so their texts are not packed. */
const HOUR_MS = 3_600_000

/** Epochs alone, 350 bytes each with four metrics, of `batches` × `jobs` trainings side by side. */
export function* trainingsOf350Bytes(options: {
  batches: number
  jobs: number
  randomIds: boolean
}): Generator<string> {
  const makeId = options.randomIds ? randomUUID : timedIds()
  const source = { project: 'bench', host: 'box1' }
  const start = Date.now() - HOUR_MS
  for (let epoch = 0; ; epoch++) {
    for (let b = 0; b < options.batches; b++) {
      for (let j = 0; j < options.jobs; j++) {
        const loss = 2 * Math.exp(-epoch / 400) + Math.random() / 10
        yield JSON.stringify({
          event_id: makeId(),
          schema_version: '1.1',
          event_type: 'job_epoch',
          timestamp: new Date(start + epoch * 20 + j).toISOString(),
          batch_id: `sweep-2026-${b}`,
          job_id: `seed-${j}`,
          source,
          data: { epoch, train_loss: loss, val_loss: loss + Math.random() / 50, lr: 3e-4, acc: 1 - loss / 3 },
        })
      }
    }
  }
}

/** One job that reports its metrics, a single one by default, at every step. */
export function* stepsOf(batchId: string, metrics = 1): Generator<string> {
  const makeId = timedIds()
  const source = { project: 'bench', host: 'box1', user: 'bench' }
  const start = Date.now() - HOUR_MS
  for (let step = 0; ; step++) {
    yield JSON.stringify({
      event_id: makeId(),
      schema_version: '1.1',
      event_type: 'job_epoch',
      timestamp: new Date(start + step).toISOString(),
      batch_id: batchId,
      job_id: 'job-1',
      source,
      data: { epoch: step, loss: 2 * Math.exp(-step / 100_000) + Math.random() / 10, ...others(metrics - 1) },
    })
  }
}

const others = (metrics: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: metrics }, (_, i) => [`metric_${i}`, Math.random()]))

/** Runs of one job each, from start to end, with ten metrics an epoch. */
export function wholeRuns(batchIds: readonly string[], epochs: number): string[] {
  const makeId = timedIds()
  let at = Date.UTC(2026, 0, 1)
  return batchIds.flatMap((batch_id) => {
    const event = (event_type: string, job_id: string | null, data: object): string =>
      JSON.stringify({
        event_id: makeId(),
        schema_version: '1.1',
        event_type,
        timestamp: new Date(at++).toISOString(),
        batch_id,
        job_id,
        source: { project: 'bench', host: 'box1', user: 'bench', command: 'python train.py' },
        data,
      })
    return [
      event('batch_start', null, { experiment_type: 'training', n_total: 1 }),
      event('job_start', 'job', { params: { lr: Math.random() } }),
      ...Array.from({ length: epochs }, (_, epoch) => event('job_epoch', 'job', { epoch, ...others(10) })),
      event('job_done', 'job', {}),
      event('batch_done', null, { n_done: 1, n_failed: 0, total_elapsed_s: 60 }),
    ]
  })
}

/** The events in JSON arrays of that length. */
export function arraysOf(events: readonly string[], length: number): string[] {
  const bodies: string[] = []
  for (let i = 0; i < events.length; i += length) bodies.push(`[${events.slice(i, i + length).join(',')}]`)
  return bodies
}

/** Version 7: milliseconds, a counter, random bits. */
function timedIds(): () => string {
  let ms = Date.now()
  let count = 0
  return () => {
    if (count > 0xfff) [ms, count] = [ms + 1, 0]
    const head = ms.toString(16).padStart(12, '0')
    const random = randomUUID()
    return `${head.slice(0, 8)}-${head.slice(8)}-7${(count++).toString(16).padStart(3, '0')}${random.slice(18)}`
  }
}

/** The next `count` events; the generator goes on after them. */
export function take(events: Generator<string>, count: number): string[] {
  const list: string[] = []
  while (list.length < count) {
    const { value, done } = events.next()
    if (done === true) break
    list.push(value)
  }
  return list
}

/** The same events as columns (docs/contract.md §1). */
export function inColumns(events: string[]): string {
  const all = events.map((event) => JSON.parse(event))
  const { schema_version, batch_id, job_id, source } = all[0]
  return JSON.stringify({
    schema_version,
    batch_id,
    job_id,
    source,
    event_ids: all.map((event) => event.event_id),
    timestamps: all.map((event) => event.timestamp),
    epochs: all.map((event) => event.data.epoch),
    series: Object.fromEntries(
      Object.keys(all[0].data)
        .filter((name) => name !== 'epoch')
        .map((name) => [name, all.map((event) => event.data[name])]),
    ),
  })
}
