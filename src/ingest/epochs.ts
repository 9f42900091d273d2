import { canonicalInstant } from '../db/instant.ts'
import { type Event, INSTANT, isRealInstant, UUID } from '../domain/events/index.ts'
import { stampOf } from '../domain/merge.ts'
import { isStep } from '../domain/step.ts'
import { Problem } from '../problem.ts'
import { type Body, type Checked, checkEvent, MAX_EVENT_BYTES } from './envelope.ts'
import type { ReceiptClock } from './receipt-clock.ts'

/**
 * Many job_epoch events of one job as one envelope and columns (docs/contract.md §1 "Epochs as columns"). Each row of the
 * columns is an event: it is checked, answered, stored and deduplicated as if it had been sent alone.
 */
export const EPOCHS_TYPE = 'application/vnd.svc.epochs+json'
export const EPOCHS_VERSION = '1'
/** The header `Accept-Post` of answers to reporters. */
export const ACCEPT_POST = `application/json, ${EPOCHS_TYPE};version=${EPOCHS_VERSION}`

const SHARED = ['schema_version', 'batch_id', 'job_id', 'source'] as const
const COLUMNS = ['event_ids', 'timestamps', 'epochs'] as const

export interface EpochColumns {
  /** The number of events. */
  count: number
  check(reception: ReceiptClock): (Checked | Problem)[]
}

/** @throws Problem invalid_envelope if the columns do not form events */
export function epochColumns({ value, suspect }: Body): EpochColumns {
  const { body, ...columns } = readColumns(value)
  const { ids, timestamps, epochs, series } = columns
  const text = textOf(body, columns)
  return {
    count: ids.length,
    check(reception) {
      const careful = (i: number): Checked | Problem => {
        const json = text(i)
        return checkEvent(JSON.parse(json), { text: json, suspect, reception })
      }
      const all: (Checked | Problem)[] = []
      // The shared fields are checked with the first valid event; for the others only their columns are checked.
      let first: Checked | undefined
      for (let i = 0; i < ids.length; i++) {
        const quick = suspect || first === undefined ? undefined : alike(first, i)
        const checked = quick ?? careful(i)
        all.push(checked)
        if (first === undefined && !(checked instanceof Problem) && isPlain(checked)) first = checked
      }
      return all

      function isPlain({ dataFault, ignored, media, series: found }: Checked): boolean {
        const names = found?.names ?? []
        if (dataFault !== undefined || ignored !== undefined || media !== undefined) return false
        if (names.length !== series.length) return false
        return series.every(({ name }, n) => name === names[n])
      }

      /** The event at `i` if its columns are plainly valid; undefined if it needs the full check. */
      function alike(model: Checked, i: number): Checked | undefined {
        const [id, timestamp, epoch] = [ids[i], timestamps[i], epochs[i]]
        if (typeof id !== 'string' || !UUID.test(id) || !isStep(epoch)) return undefined
        if (typeof timestamp !== 'string' || !INSTANT.test(timestamp) || !isRealInstant(timestamp))
          return undefined
        const values = new Array<number>(series.length)
        for (let n = 0; n < series.length; n++) {
          const found = series[n]?.values[i]
          if (typeof found !== 'number' || !Number.isFinite(found)) return undefined
          values[n] = found
        }
        const json = text(i)
        if (json.length * 3 > MAX_EVENT_BYTES) return undefined
        const eventId = id.toLowerCase()
        const sent = canonicalInstant(timestamp)
        const at = sent > reception.aheadAfter ? reception.next() : sent
        const found = { names: model.series?.names as readonly string[], values }
        return {
          ...model,
          // The other data of a job_epoch are its series.
          event: { ...model.event, event_id: id, timestamp, data: { epoch } } as Event,
          eventId,
          json,
          at,
          live: sent >= reception.aliveFrom || (sent >= reception.rightFrom && sent <= reception.rightUntil),
          stamp: stampOf(at, false, eventId),
          series: found,
          sentSeries: found,
        }
      }
    },
  }
}

/** @throws Problem invalid_envelope */
function readColumns(value: unknown) {
  const errors: { path: string; message: string }[] = []
  const fail = (path: string, message: string): void => void errors.push({ path, message })
  const body = isObject(value) ? value : {}
  if (!isObject(value)) fail('', 'must be an object')
  for (const key of Object.keys(body)) {
    if (key !== 'series' && ![...SHARED, ...COLUMNS].some((known) => known === key))
      fail(key, 'is not a known field')
  }
  const column = (path: string, found: unknown): unknown[] => {
    if (Array.isArray(found)) return found
    fail(path, 'must be an array')
    return []
  }
  const [ids, timestamps, epochs] = COLUMNS.map((name) => column(name, body[name])) as [
    unknown[],
    unknown[],
    unknown[],
  ]
  if (!isObject(body.series)) fail('series', 'must be an object')
  const series = Object.entries(isObject(body.series) ? body.series : {}).map(([name, values]) => ({
    name,
    values: column(`series.${name}`, values),
  }))
  for (const [path, { length }] of [
    ['timestamps', timestamps],
    ['epochs', epochs],
    ...series.map(({ name, values }): [string, unknown[]] => [`series.${name}`, values]),
  ] as [string, unknown[]][]) {
    if (length !== ids.length) fail(path, `must have ${ids.length} elements, as event_ids`)
  }
  if (series.some(({ name }) => name === 'epoch')) fail('series.epoch', 'is the column epochs')
  if (errors.length > 0) {
    const detail = errors
      .map((e) => `${e.path} ${e.message}`.trim())
      .slice(0, 3)
      .join('; ')
    throw new Problem('invalid_envelope', { errors, detail })
  }
  return { body, ids, timestamps, epochs, series }
}

/** The event at a position as one line of JSON. A series that is null there is absent from it. */
function textOf(
  body: Record<string, unknown>,
  columns: {
    ids: unknown[]
    timestamps: unknown[]
    epochs: unknown[]
    series: { name: string; values: unknown[] }[]
  },
): (i: number) => string {
  const { ids, timestamps, epochs } = columns
  const member = (key: string): string =>
    body[key] === undefined ? '' : `,"${key}":${JSON.stringify(body[key])}`
  const version = `${member('schema_version')},"event_type":"job_epoch","timestamp":`
  const rest = `${member('batch_id')}${member('job_id')}${member('source')},"data":{"epoch":`
  const series = columns.series.map(({ name, values }) => ({ name: `,${JSON.stringify(name)}:`, values }))
  return (i) => {
    let text = `{"event_id":${written(ids[i])}${version}${written(timestamps[i])}${rest}${written(epochs[i])}`
    for (const { name, values } of series) {
      const value = values[i]
      if (value !== null) text += name + written(value)
    }
    return `${text}}}`
  }
}

/** As JSON. JSON.stringify would write null for a number too large for a double, and 0 for -0. */
function written(value: unknown): string {
  if (typeof value !== 'number') return JSON.stringify(value)
  if (Number.isFinite(value)) return Object.is(value, -0) ? '-0' : String(value)
  return value > 0 ? '1e999' : '-1e999'
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
