import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { payloadText, withTemplate } from '../../src/domain/events/index.ts'
import { assertProperty, patienceMs, propertyBounds } from '../kit/effort.ts'
import { type Door, openDoor } from './sending.ts'

// Valid events, mutated: each is stored unchanged or refused with a 4xx (never 5xx), and
// nothing that was refused is stored.

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

const FOLDER = new URL('../../schemas/examples/valid/', import.meta.url)
const EXAMPLES = readdirSync(FOLDER).map((name) => readFileSync(new URL(name, FOLDER), 'utf8'))

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** What a broken client, a hostile one, or the next version of a library might put anywhere. */
const nasty: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    '',
    ' ',
    '0',
    'NaN',
    'Infinity',
    '-Infinity',
    'nan',
    -0,
    -1,
    0.1,
    2 ** 31,
    2 ** 53,
    1e308,
    5e-324,
    '1e400',
    '\u2028',
    '\u0085',
    '__proto__',
    '{}',
    '[]',
    'null',
    'x'.repeat(129),
    '😀'.repeat(128),
    '😀'.repeat(129),
    '2026-13-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999999Z',
    '0001-01-01T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '1.1',
    '1.0',
    '2.0',
    'batch_start',
    'job_epoch',
    'log_line',
    'toString',
    [],
    {},
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.uuid(),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
  fc.constant({ a: { b: { c: [1, { d: 'NaN' }] } } } as Json),
)
const keys = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'epoch',
    'n_total',
    'n_total_jobs',
    'gpus',
    'metrics',
    'tags',
    '',
    'a/b',
    'x'.repeat(129),
  ),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const mutation = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'swap', 'wrap'),
  /** Which of the places in the event, as a share of all. */
  place: fc.double({ min: 0, max: 0.999999, noNaN: true }),
  other: fc.double({ min: 0, max: 0.999999, noNaN: true }),
  value: nasty,
  key: keys,
})
const withData = (text: string, fields: string): string =>
  text.replace(/"data":\{(\}?)/, (_, end) => `"data":{${fields}${end === '' ? ',' : '}'}`)
/** On the text itself: changes that no JSON value can express. */
const textual = fc.constantFrom<(text: string) => string>(
  (t) => t.replace(/:\d+(\.\d+)?([,}])/, ':1e400$2'),
  (t) => t.replace(/:(\d+)([,}])/, ':-0.0$1e-999$2'),
  (t) => t.replace(/"([a-z]{4,})"([,}])/, '"$1\\u0000"$2'),
  (t) => t.replace(/"([a-z]{4,})"([,}])/, '"\\ud83d$1"$2'),
  (t) => withData(t, '"__proto__":{"polluted":1},"constructor":{"prototype":2}'),
  (t) => withData(t, `"deep":${'['.repeat(80)}${']'.repeat(80)}`),
  (t) => withData(t, '"twice":1,"twice":"2"'),
  (t) => `\n\t ${t.replaceAll('":', '"\r\n: ')} `,
  (t) => t,
  (t) => t,
  (t) => t,
  (t) => t,
)
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const mutant = fc
  .record({
    example: fc.constantFrom(...EXAMPLES),
    mutations: fc.array(mutation, { minLength: 0, maxLength: 3 }),
    textual,
  })
  .map(({ example, mutations, textual: rewrite }) => {
    const event = JSON.parse(example) as Json
    // Its own id and batch, so that its result can be identified; mutations may change them.
    Object.assign(event as object, { event_id: randomUUID(), batch_id: `bad ${randomUUID()}` })
    Object.assign((event as { source: object }).source, { project: 'vision' })
    const text = JSON.stringify(mutations.reduce(mutate, event))
    const rewritten = rewrite(text)
    return isJson(rewritten) ? rewritten : text
  })

/** Every place in a value: its parent, and the key there. */
function placesOf(value: Json, found: { parent: Json[] | { [key: string]: Json }; key: string }[] = []) {
  if (typeof value !== 'object' || value === null) return found
  for (const key of Object.keys(value)) {
    found.push({ parent: value, key })
    placesOf((value as { [key: string]: Json })[key] as Json, found)
  }
  return found
}

function mutate(
  event: Json,
  m: { kind: string; place: number; other: number; value: Json; key: string },
): Json {
  const places = placesOf(event)
  const at = places[Math.floor(m.place * places.length)]
  const other = places[Math.floor(m.other * places.length)]
  if (at === undefined || other === undefined) return m.value
  const put = (parent: object, key: string, value: Json): void => {
    Object.defineProperty(parent, key, {
      value: structuredClone(value),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  const valueAt = (place: typeof at): Json => (place.parent as { [key: string]: Json })[place.key] as Json
  if (m.kind === 'remove') {
    if (Array.isArray(at.parent)) at.parent.splice(Number(at.key), 1)
    else delete at.parent[at.key]
  } else if (m.kind === 'add')
    put(at.parent, Array.isArray(at.parent) ? String(at.parent.length) : m.key, m.value)
  else if (m.kind === 'swap') {
    const [a, b] = [valueAt(at), valueAt(other)]
    put(at.parent, at.key, b)
    put(other.parent, other.key, a)
  } else if (m.kind === 'wrap') put(at.parent, at.key, [valueAt(at)])
  else put(at.parent, at.key, m.value)
  return event
}

interface Result {
  db_id: number | null
  deduplicated: boolean
  error?: { status: number; code: string; detail: string }
}
const REFUSED = new Set([404, 409, 413, 415, 422, 403])

test(
  'mutated events are stored as they are or refused as the sender’s fault, and nothing in between',
  async () => {
    let stored = 0
    let refused = 0
    await assertProperty(
      fc.asyncProperty(
        fc.array(mutant, { minLength: 1, maxLength: 30 }),
        fc.constantFrom('one by one', 'in an array', 'both'),
        async (texts, how) => {
          const before = await countsOf()
          const outcomes = new Map<string, Result>()
          let created = 0
          const keep = (text: string, result: Result): void => {
            if (result.db_id !== null && !result.deduplicated) created++
            if (result.error !== undefined) {
              expect(REFUSED, `${JSON.stringify(result)} for ${text}`).toContain(result.error.status)
            }
            outcomes.set(text, outcomes.get(text)?.db_id ? (outcomes.get(text) as Result) : result)
          }
          if (how !== 'one by one') {
            const answer = await door.sendAll(`[${texts.join(',')}]`)
            expect(answer.status, JSON.stringify(answer.body)).toBe(200)
            expect(answer.body.results).toHaveLength(texts.length)
            for (const [i, text] of texts.entries()) keep(text, answer.body.results[i])
          }
          if (how !== 'in an array') {
            const answers = await Promise.all(texts.map((text) => door.send(text)))
            for (const [i, text] of texts.entries())
              keep(text, resultOf(answers[i] as Awaited<ReturnType<Door['send']>>))
          }
          const after = await countsOf()
          expect(after.events - before.events, 'as many rows as were answered as stored').toBe(created)
          for (const [text, { db_id }] of outcomes) {
            const id = (JSON.parse(text) as { event_id?: unknown } | null)?.event_id
            const uuid =
              typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? id : null
            const [row] =
              uuid === null
                ? []
                : await door.sql`select e.db_id, ${payloadText(door.sql)} payload
                    from events e ${withTemplate(door.sql)} where e.event_id = ${uuid}`
            if (db_id === null) {
              refused++
              // Unless another mutant got the same id by a swap and was stored first.
              if (row !== undefined) expect([...outcomes.values()].map((o) => o.db_id)).toContain(row.db_id)
            } else {
              stored++
              expect(row?.db_id).toBe(db_id)
              // As JSON writes it: the sign of zero is not kept in an array.
              expect(JSON.stringify(JSON.parse(row?.payload))).toBe(JSON.stringify(JSON.parse(text)))
            }
          }
        },
      ),
      propertyBounds('bad input', { runs: 1500, seconds: 22 }),
    )
    console.info(`bad input: ${stored} stored, ${refused} refused`)
    // Both accepted and refused mutants must occur, or the test proves nothing.
    expect(stored).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
    expect(await looseEnds()).toEqual([])
  },
  patienceMs(90),
)

test(
  'bodies that are no events are refused, with any content',
  async () => {
    await assertProperty(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
          fc.string({ unit: 'binary', maxLength: 100 }).map((text) => Buffer.from(text)),
          fc.json().map((text) => Buffer.from(text)),
          fc
            .tuple(fc.constantFrom(...EXAMPLES), fc.nat(200))
            .map(([text, n]) => Buffer.from(text.slice(0, n))),
        ),
        fc.constantFrom('/api/events', '/api/events/batch'),
        async (body, path) => {
          const answer = await door.app.call('POST', path, { token: door.token, body })
          const items: Result[] = answer.body.results ?? []
          // An array may hold anything: then each of its items is refused.
          if (answer.status === 200) expect(items.every((item) => item.db_id === null)).toBe(true)
          else expect([400, 413, 415, 422]).toContain(answer.status)
        },
      ),
      propertyBounds('no events', { runs: 2000, seconds: 8 }),
    )
  },
  patienceMs(60),
)

function resultOf({ status, body }: Awaited<ReturnType<Door['send']>>): Result {
  return status === 200
    ? body
    : { db_id: null, deduplicated: false, error: { status, code: body.code, detail: body.detail } }
}

async function countsOf(): Promise<{ events: number }> {
  const [row] = await door.sql<{ events: number }[]>`select count(*) events from events`
  return row as { events: number }
}

/** Rows that no stored event accounts for: a refused event must not leave so much as an empty batch. */
const looseEnds = () => door.sql`
  select 'batch' what, id from batches b where not exists (select from events v where v.batch_key = b.key)
  union all
  select 'job', id from jobs j where not exists (select from events v where v.job_key = j.key)
  union all
  select 'project', slug from projects p where not exists (select from batches b where b.project_key = p.key)
  union all
  select 'epoch', e.job_key::text from epochs e where not exists (select from events v where v.db_id = e.db_id)
  union all
  select 'line', l.db_id::text from log_lines l where not exists (select from events v where v.db_id = l.db_id)
  union all
  select 'snapshot', s.db_id::text from resource_snapshots s where not exists (select from events v where v.db_id = s.db_id)`
