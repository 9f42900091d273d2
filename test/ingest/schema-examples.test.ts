import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { type Checked, checkEvent, parseBody } from '../../src/ingest/envelope.ts'
import { createReceiptClock } from '../../src/ingest/receipt-clock.ts'
import { Problem } from '../../src/problem.ts'

/**
 * schemas/examples against both readers of the event format: the published JSON Schema, as a client would use it,
 * and the service's own validation. The Python reporter tests itself against the same files.
 */
const EXAMPLES = new URL('../../schemas/examples/', import.meta.url)
const EVENT_TYPES = [
  'batch_start',
  'batch_done',
  'batch_failed',
  'job_start',
  'job_epoch',
  'job_done',
  'job_failed',
  'resource_snapshot',
  'log_line',
]

interface Refusal {
  status: number
  code: string
  path?: string
}

const read = (path: string): string => readFileSync(new URL(path, EXAMPLES), 'utf8')
const filesOf = (folder: string): string[] =>
  readdirSync(new URL(`${folder}/`, EXAMPLES))
    .filter((name) => name !== 'index.json')
    .sort()
const indexOf = (folder: string): Record<string, Refusal> => JSON.parse(read(`${folder}/index.json`))

// Strict, so that a misspelt keyword is an error; strictRequired cannot see past the anyOf that asks for n_total or its alias.
const ajv = new Ajv({ strict: true, strictRequired: false, allErrors: true })
formats.default(ajv)
const schemaAccepts = ajv.compile(JSON.parse(read('../event_v1.json')))

const reception = createReceiptClock(() => new Date(), 15)

/** What a single POST would make of the text: a checked event whose data is in order, or the refusal. */
function serviceReads(text: string): Checked | Problem {
  const body = parseBody(Buffer.from(text, 'utf8'))
  const checked = checkEvent(body.value, {
    ...body,
    reception: reception({ sentAt: undefined, namesSenders: false }),
  })
  return checked instanceof Problem ? checked : (checked.dataFault ?? checked)
}

/** As an item of an array request, whose text the service does not have on its own. */
function serviceReadsAsItem(text: string): Checked | Problem {
  const body = parseBody(Buffer.from(`[${text}]`, 'utf8'))
  const checked = checkEvent((body.value as unknown[])[0], {
    suspect: body.suspect,
    reception: reception({ sentAt: undefined, namesSenders: false }),
  })
  return checked instanceof Problem ? checked : (checked.dataFault ?? checked)
}

function expectRefusal(answer: Checked | Problem, expected: Refusal): void {
  expect(answer).toBeInstanceOf(Problem)
  const { status, code, errors } = answer as Problem
  expect({ status, code }).toEqual({ status: expected.status, code: expected.code })
  if (expected.path !== undefined) expect(errors?.map((error) => error.path)).toContain(expected.path)
}

describe('valid examples', () => {
  test.each(filesOf('valid'))('%s is accepted by the schema and by the service', (name) => {
    const text = read(`valid/${name}`)
    const value = JSON.parse(text)
    expect(schemaAccepts(value), ajv.errorsText(schemaAccepts.errors)).toBe(true)
    for (const answer of [serviceReads(text), serviceReadsAsItem(text)]) {
      expect(answer).not.toBeInstanceOf(Problem)
      expect(JSON.parse((answer as Checked).json)).toEqual(value)
    }
  })

  test('show each of the nine event types, each event under its own id', () => {
    const events = filesOf('valid').map((name) => JSON.parse(read(`valid/${name}`)))
    expect(new Set(events.map((event) => event.event_type))).toEqual(new Set(EVENT_TYPES))
    expect(new Set(events.map((event) => event.event_id.toLowerCase())).size).toBe(events.length)
  })
})

describe.each(['invalid', 'invalid-semantic'])('%s examples', (folder) => {
  const index = indexOf(folder)

  test('are all in the index, and the index names no other', () => {
    expect(Object.keys(index).sort()).toEqual(filesOf(folder))
  })

  test.each(Object.entries(index))('%s is refused by the service as the index says', (name, expected) => {
    const text = read(`${folder}/${name}`)
    expectRefusal(serviceReads(text), expected)
    expectRefusal(serviceReadsAsItem(text), expected)
  })
})

test.each(filesOf('invalid'))('invalid/%s is refused by the schema', (name) => {
  expect(schemaAccepts(JSON.parse(read(`invalid/${name}`)))).toBe(false)
})

describe('the recorded digits sweep', () => {
  const lines = read('recorded/digits-sweep.jsonl').trimEnd().split('\n')
  const events = lines.map((line) => JSON.parse(line))
  const ofType = (type: string) => events.filter((event) => event.event_type === type)

  test('is valid line by line for the schema and for the service', () => {
    const refused = lines.filter(
      (line) => !schemaAccepts(JSON.parse(line)) || serviceReads(line) instanceof Problem,
    )
    expect(refused).toEqual([])
  })

  test('is one batch told in order, each event under its own id', () => {
    expect(new Set(events.map((event) => event.batch_id)).size).toBe(1)
    expect(new Set(events.map((event) => event.event_id)).size).toBe(events.length)
    const times = events.map((event) => event.timestamp)
    expect(times).toEqual([...times].sort())
    expect(events.at(0).event_type).toBe('batch_start')
    expect(events.at(-1).event_type).toBe('batch_done')
  })

  test('has totals that agree with its jobs', () => {
    const { n_done, n_failed } = ofType('batch_done')[0].data
    expect(n_done).toBe(ofType('job_done').length)
    expect(n_failed).toBe(ofType('job_failed').length)
    expect(n_done + n_failed).toBe(ofType('batch_start')[0].data.n_total)
    expect(ofType('job_start').length).toBe(n_done + n_failed)
    for (const job of ofType('job_done')) {
      const epochs = ofType('job_epoch').filter((event) => event.job_id === job.job_id)
      expect(epochs.map((event) => event.data.epoch)).toEqual([...Array(job.data.train_epochs).keys()])
    }
  })

  test('has six jobs that learn, one that fails half-way and one whose loss reaches Infinity and NaN', () => {
    const lossesOf = (jobId: string) =>
      ofType('job_epoch')
        .filter((event) => event.job_id === jobId)
        .map((event) => event.data.train_loss)
    const done = ofType('job_done').map((event) => lossesOf(event.job_id))
    const learned = done.filter((losses) => losses.at(-1) < losses[0] / 5)
    const diverged = done.filter((losses) => losses.includes('Infinity') && losses.at(-1) === 'NaN')
    expect([learned.length, diverged.length]).toEqual([6, 1])
    expect(ofType('job_failed').map((event) => lossesOf(event.job_id).length)).toEqual([18])
  })
})
