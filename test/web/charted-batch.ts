import type { Event } from './visit.ts'

/** A sweep of three learning rates with curves that try a chart: a spike, NaN, Inf, small and great values, gaps. */
export const LRS = [0.1, 0.01, 0.001]
export const EPOCHS = 120
export const SPIKE = 5000

export interface Charted {
  events: Event[]
  /** By job, the values of `loss` by epoch; what JSON cannot write by name. */
  losses: Map<string, (number | string)[]>
}

/** @param extra series besides the loss, the accuracy and the learning rate */
export function chartedBatch(batchId: string, jobs: number, extra = 0, epochs: number = EPOCHS): Charted {
  const start = Date.now() - 3_600_000
  const at = (ms: number): string => new Date(start + ms).toISOString()
  let n = 0
  const event = (
    event_type: string,
    ms: number,
    job_id: string | null,
    data: Record<string, unknown>,
  ): Event =>
    ({
      event_id: crypto.randomUUID(),
      event_type,
      schema_version: '1.1',
      timestamp: at(ms + n++ / 1000),
      batch_id: batchId,
      job_id,
      source: { project: 'charts' },
      data,
    }) as unknown as Event
  const events = [event('batch_start', 0, null, { experiment_type: 'sweep', n_total: jobs })]
  const losses = new Map<string, (number | string)[]>()
  for (let job = 0; job < jobs; job++) {
    const id = `lr${LRS[job % 3]}-seed${job}`
    events.push(event('job_start', job * 1_000, id, { lr: LRS[job % 3], seed: job }))
    losses.set(id, [])
  }
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let job = 0; job < jobs; job++) {
      const id = `lr${LRS[job % 3]}-seed${job}`
      const noise = ((epoch * 7919 + job * 104_729) % 1000) / 1000
      const smooth = Math.exp(-epoch / (20 + 15 * (job % 3))) + 0.05 * (job % 3)
      const loss =
        job === 0 && epoch === 40
          ? SPIKE
          : job === 1 && epoch === 50
            ? 'NaN'
            : job === 2 && epoch === 60
              ? 'Infinity'
              : smooth * (0.8 + 0.4 * noise)
      losses.get(id)?.push(loss)
      events.push(
        event('job_epoch', job * 1_000 + epoch * 20_000, id, {
          epoch,
          loss,
          acc: 1 - smooth / 2,
          lr: LRS[job % 3],
          ...Object.fromEntries(Array.from({ length: extra }, (_, i) => [`extra_${i}`, epoch * i])),
        }),
      )
    }
  }
  return { events, losses }
}

/** A mean by the definition, over every finite value. */
export function smoothed(values: readonly number[], weight: number): number[] {
  let [sum, mass] = [0, 0]
  return values.map((value) => {
    if (!Number.isFinite(value)) return Number.NaN
    sum = sum * weight + value
    mass = mass * weight + 1
    return sum / mass
  })
}

/** One more epoch of each job, as if they all reported at once. */
export const nextEpoch = (events: readonly Event[], epoch: number): Event[] =>
  events
    .filter((event) => event.event_type === 'job_epoch' && event.data.epoch === 0)
    .map((event) => ({
      ...event,
      event_id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      data: { ...event.data, epoch },
    }))
