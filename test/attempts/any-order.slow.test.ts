import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent, type TestEvent } from '../ingest/sending.ts'
import { assertProperty, patienceMs, propertyBounds } from '../kit/effort.ts'
import { path, reader } from './story.ts'

// Attempts are a function of the set of events (contract §1 "Order").

let stage: Stage
let get: ReturnType<typeof reader>['get']
let send: ReturnType<typeof reader>['send']
let listed: ReturnType<typeof reader>['listed']
beforeAll(async () => {
  stage = await openStage()
  ;({ get, send, listed } = reader(stage))
})
afterAll(() => stage?.stop())

describe('any order and any repetition of the events', () => {
  const event = fc.record({
    event_id: fc.uuid(),
    job: fc.constantFrom('x', 'y'),
    // Few moments, so that many things happen at the same one.
    second: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(3.5, 3.25, 8.000001)),
    what: fc.oneof(
      { weight: 2, arbitrary: fc.constant({ type: 'job_start' as const, data: {} }) },
      {
        weight: 6,
        arbitrary: fc
          .record({ epoch: fc.integer({ min: 0, max: 5 }), loss: fc.nat(9) })
          .map((data) => ({ type: 'job_epoch' as const, data })),
      },
      {
        weight: 1,
        arbitrary: fc.option(fc.nat(99), { nil: undefined }).map((elapsed_s) => ({
          type: 'job_done' as const,
          data: elapsed_s === undefined ? {} : { elapsed_s },
        })),
      },
      {
        weight: 1,
        arbitrary: fc
          .record({ reason: fc.constantFrom('OOM', 'stop_requested'), elapsed_s: fc.nat(99) })
          .map((data) => ({ type: 'job_failed' as const, data })),
      },
    ),
  })
  const when = (second: number): string =>
    `2026-03-01T10:00:${String(Math.floor(second)).padStart(2, '0')}${(second % 1).toFixed(6).slice(1)}Z`
  let run = 0

  test(
    'give the same attempts with the same points as a simple model',
    async () => {
      await assertProperty(
        fc.asyncProperty(
          fc.uniqueArray(event, { minLength: 1, maxLength: 30, selector: (e) => e.event_id.slice(0, 28) }),
          fc.nat(),
          async (drawn, seed) => {
            const draw = randomFrom(seed)
            const prefix = `run ${++run}`
            const made = (suffix: string, no: number): TestEvent[] =>
              drawn.map(({ event_id, job, second, what }) =>
                makeEvent(what.type, {
                  event_id: event_id.slice(0, 28) + (run * 2 + no).toString(16).padStart(8, '0'),
                  batch_id: `${prefix} ${suffix}`,
                  job_id: job,
                  timestamp: when(second),
                  source: { project: 'vision' },
                  data: what.data,
                }),
              )
            const inOrder = made('in order', 0)
            await send(inOrder)
            const shuffled = made('shuffled', 1)
              .flatMap((one) => (draw() < 0.3 ? [one, one] : [one]))
              .map((one) => [draw(), one] as const)
              .sort(([a], [b]) => a - b)
              .map(([, one]) => one)
            const cut = Math.floor(draw() * shuffled.length)
            for (const part of [shuffled.slice(0, cut), shuffled.slice(cut)]) {
              if (part.length > 0) await send(part)
            }
            for (const job of new Set(drawn.map((one) => one.job))) {
              const told = await toldOf(`${prefix} in order`, job)
              expect(await toldOf(`${prefix} shuffled`, job)).toEqual(told)
              expect(told).toMatchObject(modelOf(inOrder.filter((one) => one.job_id === job)))
            }
          },
        ),
        propertyBounds('attempts', { runs: 60, seconds: 40 }),
      )
    },
    patienceMs(120),
  )

  /** The view of a job without the name of its batch and without what depends on the time of the request. */
  async function toldOf(batch: string, job: string) {
    const items = await listed(batch, job)
    const all = []
    for (const { batch_id: _, elapsed_s, ...one } of items) {
      const { series, complete } = await get(`${path(batch, job)}/${one.n}/metrics`)
      const running = one.status === 'running'
      all.push({ ...one, ...(running ? {} : { elapsed_s }), points: series, whole: complete })
    }
    return all
  }

  /** What the rules say, in the plainest way. */
  function modelOf(events: TestEvent[]) {
    const key = (e: TestEvent): string => `${e.timestamp} ${e.event_id}`
    const sorted = events.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
    const starts = sorted.filter((e) => e.event_type === 'job_start')
    const placeOf = (e: TestEvent): number =>
      Math.max(
        0,
        starts.findLastIndex((s) => s.timestamp <= e.timestamp),
      )
    const count = Math.max(1, starts.length)
    const epochsOf = (place: number): Map<number, number> => {
      const found = new Map<number, number>()
      for (const e of sorted) {
        if (e.event_type === 'job_epoch' && placeOf(e) === place)
          found.set(e.data.epoch as number, e.data.loss as number)
      }
      return new Map([...found].sort(([a], [b]) => a - b))
    }
    return Array.from({ length: count }, (_, place) => {
      const epochs = epochsOf(place)
      const later = new Set(
        Array.from({ length: count }, (_, i) => (i > place ? [...epochsOf(i).keys()] : [])).flat(),
      )
      return {
        n: place + 1,
        ...(starts[place] && {
          started_at: starts[place].timestamp.replace(/\.000000Z$/, 'Z').replace(/000Z$/, 'Z'),
        }),
        epochs: epochs.size,
        first_epoch: [...epochs.keys()][0] ?? null,
        last_epoch: [...epochs.keys()].at(-1) ?? null,
        superseded_epochs: [...epochs.keys()].filter((epoch) => later.has(epoch)).length,
        points:
          epochs.size === 0 ? [] : [{ key: 'loss', steps: [...epochs.keys()], values: [...epochs.values()] }],
        whole: true,
        complete: true,
      }
    })
  }
})
