import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { payloadText, withTemplate } from '../../src/domain/events/index.ts'
import { type Door, makeEvent, openDoor, type TestEvent } from './sending.ts'

// Everything valid is stored exactly as it was sent, even if unusual; and an event that the database refuses harms
// no other event of its transaction.

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

let batches = 0
const newBatch = (): string => `poison ${++batches}`
const SMILEYS = '\u{1F600}'.repeat(128)
/** The text that is stored, so that keys like `__proto__` count too. */
const payloadsOf = async (events: { event_id: string }[]): Promise<unknown[]> => {
  const rows =
    await door.sql`select e.event_id, ${payloadText(door.sql)} payload from events e ${withTemplate(door.sql)}
      where e.event_id = any (${events.map((e) => e.event_id)}::uuid[])`
  const byId = new Map(rows.map((r) => [r.event_id, r.payload]))
  return events.map((e) => byId.get(e.event_id))
}
/** JSON with own keys such as `__proto__`, which an object literal cannot have. */
const json = (text: string): Record<string, unknown> => JSON.parse(text)

const LONG = 'x'.repeat(200_000)
/** Long and without repetition, so that compression does not bring it below a limit. */
const random = (characters: number): string => {
  let text = ''
  while (text.length < characters) text += randomUUID().replaceAll('-', '')
  return text.slice(0, characters)
}
const STRANGE = [
  'with "quotes" and \'apostrophes\'',
  'back\\slash \\" \\\\ \\n',
  '{braces}',
  '{}',
  'comma,s;semi',
  'NULL',
  'null',
  '""',
  '$1 :: text',
  '%s %n',
  "'; drop table events; --",
  '\u2028 \u2029 \u00a0 \ufeff',
  ' ',
  '   \u3000',
  'e\u0301 \u200d \u202e reversed',
  '\ufffd \uffff \u{10ffff}',
  '__proto__',
  'constructor',
]

/** How each is stored is tested below; here all must be accepted. */
const odd: Record<string, (batch_id: string) => TestEvent> = {
  'a batch_start at the first instant': (batch_id) =>
    makeEvent('batch_start', { batch_id, timestamp: '0001-01-01T00:00:00Z' }),
  'a batch_done at the last instant': (batch_id) =>
    makeEvent('batch_done', { batch_id, timestamp: '9999-12-31T23:59:59.999999999Z' }),
  'a leap day': (batch_id) => makeEvent('log_line', { batch_id, timestamp: '2000-02-29T23:59:59.9Z' }),
  'the greatest and least epoch': (batch_id) =>
    makeEvent('job_epoch', { batch_id, data: { epoch: 2 ** 53 - 1, train_loss: Number.MAX_VALUE } }),
  'the least epoch': (batch_id) =>
    makeEvent('job_epoch', { batch_id, data: { epoch: -(2 ** 53) + 1, train_loss: 5e-324 } }),
  'the greatest counts': (batch_id) =>
    makeEvent('batch_done', {
      batch_id,
      data: { n_done: 2 ** 31 - 1, n_failed: 2 ** 31 - 1, total_elapsed_s: -1e308 },
    }),
  'a huge host, user, commit and command': (batch_id) =>
    makeEvent('batch_start', {
      batch_id,
      source: {
        project: 'vision',
        host: random(50_000),
        user: random(50_000),
        commit: random(50_000),
        command: random(50_000),
      },
    }),
  'a huge experiment_type': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { experiment_type: random(200_000) } }),
  'a huge model': (batch_id) => makeEvent('job_start', { batch_id, data: { model: random(200_000) } }),
  'a huge dataset': (batch_id) => makeEvent('job_start', { batch_id, data: { dataset: random(200_000) } }),
  'a huge reason of a batch': (batch_id) =>
    makeEvent('batch_failed', { batch_id, data: { reason: random(200_000) } }),
  'a huge reason of a job': (batch_id) =>
    makeEvent('job_failed', { batch_id, data: { reason: random(200_000) } }),
  'a huge line': (batch_id) =>
    makeEvent('log_line', { batch_id, data: { line: random(250_000), level: 'info' } }),
  'a huge rerun_of': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { rerun_of: random(100_000) } }),
  'huge tags': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { tags: [random(100_000), random(3_000)] } }),
  'many tags': (batch_id) =>
    makeEvent('batch_start', {
      batch_id,
      data: { tags: Array.from({ length: 10_000 }, (_, i) => `tag ${i}`) },
    }),
  'strange tags': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { tags: [...STRANGE, '', '\n', '\t'] } }),
  'tags that are no list': (batch_id) => makeEvent('batch_start', { batch_id, data: { tags: 'a,b' } }),
  'tags that are no strings': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { tags: [1, null, ['a'], { a: 1 }, true] } }),
  'an env_snapshot that is a list': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { env_snapshot: [1] } }),
  'an env_snapshot that is a string': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { env_snapshot: 'x' } }),
  'an env_snapshot of odd things': (batch_id) =>
    makeEvent('batch_start', {
      batch_id,
      data: {
        env_snapshot: { command: ['python', 'x'], cwd: null, commit: { sha: 1 }, hostname: 7, '': '' },
      },
    }),
  'a cwd, config and rerun_of of odd shapes': (batch_id) =>
    makeEvent('batch_start', { batch_id, data: { cwd: 7, config: ['a'], rerun_of: { batch: 1 } } }),
  'keys of the prototype in env_snapshot and config': (batch_id) =>
    makeEvent('batch_start', {
      batch_id,
      data: json('{"env_snapshot":{"__proto__":{"a":1},"constructor":"c"},"config":{"__proto__":2}}'),
    }),
  'keys of the prototype in params': (batch_id) =>
    makeEvent('job_start', { batch_id, data: json('{"__proto__":{"a":1},"constructor":2,"toString":null}') }),
  'keys of the prototype in metrics': (batch_id) =>
    makeEvent('job_done', { batch_id, data: json('{"metrics":{"__proto__":{"a":1},"constructor":2}}') }),
  'keys of the prototype in a snapshot': (batch_id) =>
    makeEvent('resource_snapshot', {
      batch_id,
      data: json('{"__proto__":3,"constructor":4,"gpus":[{"__proto__":{"util_pct":50}}]}'),
    }),
  'keys of the prototype in source': (batch_id) =>
    makeEvent('log_line', {
      batch_id,
      source: json('{"project":"vision","__proto__":{"host":"x"},"constructor":1}'),
    }),
  'ten thousand params': (batch_id) =>
    makeEvent('job_start', {
      batch_id,
      data: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`p${i}`, i])),
    }),
  'a huge param': (batch_id) => makeEvent('job_start', { batch_id, data: { notes: LONG } }),
  'params with huge names': (batch_id) =>
    makeEvent('job_start', { batch_id, data: { [random(100_000)]: 1 } }),
  'metrics nested deep': (batch_id) =>
    makeEvent('job_done', { batch_id, data: { metrics: json(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`) } }),
  'nearly a thousand series': (batch_id) =>
    makeEvent('job_epoch', {
      batch_id,
      data: {
        epoch: 0,
        ...Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`${SMILEYS.slice(0, 100)}${i}`, i])),
      },
    }),
  'a snapshot with huge names and numbers': (batch_id) =>
    makeEvent('resource_snapshot', { batch_id, data: { [LONG]: 1e308, gpu_mem_mb: -1e308, ram_mb: 5e-324 } }),
  'a snapshot of many GPUs': (batch_id) =>
    makeEvent('resource_snapshot', {
      batch_id,
      data: { gpus: Array.from({ length: 2_000 }, (_, index) => ({ index, util_pct: 1e308, name: 'H100' })) },
    }),
  'a GPU with a huge index': (batch_id) =>
    makeEvent('resource_snapshot', {
      batch_id,
      data: { gpus: [{ index: Number.MAX_SAFE_INTEGER, uuid: LONG }] },
    }),
  'numbers at the edges in params': (batch_id) =>
    makeEvent('job_start', {
      batch_id,
      data: { a: 1e308, b: 5e-324, c: -0.1, d: 2 ** 53, e: 1e21, f: 123456789.12345679 },
    }),
}

describe('in one array with ordinary events', () => {
  test.each(Object.keys(odd))('%s is stored as it was sent, and so are the other events', async (name) => {
    const batch_id = newBatch()
    const neighbours = [makeEvent('log_line', { batch_id }), makeEvent('log_line', { batch_id: newBatch() })]
    const event = (odd[name] as (batch_id: string) => TestEvent)(batch_id)
    const sent = [neighbours[0], event, neighbours[1]] as TestEvent[]
    const { status, body } = await door.sendAll(sent)
    expect(status).toBe(200)
    expect(body.results).toEqual(Array(3).fill({ db_id: expect.any(Number), deduplicated: false }))
    expect(await payloadsOf(sent)).toEqual(sent.map((e) => JSON.stringify(e)))
  })

  test('all of them are stored in one array, and again as later events of the same batch', async () => {
    const batch_id = newBatch()
    for (let time = 0; time < 2; time++) {
      const sent = Object.values(odd).map((make) => make(batch_id))
      const halves = [sent.slice(0, sent.length / 2), sent.slice(sent.length / 2)]
      for (const half of halves) {
        const { body } = await door.sendAll(half)
        expect(body.results.filter((r: { error?: unknown }) => r.error)).toEqual([])
        expect(await payloadsOf(half)).toEqual(half.map((e) => JSON.stringify(e)))
      }
    }
  })
})

describe('names', () => {
  test.each([...STRANGE, SMILEYS])('of batches, jobs and series may be %j', async (name) => {
    const batch_id = `${name}${++batches}`.slice(-128)
    // A job cannot be named by control characters, a series can.
    const events = [
      makeEvent('job_start', { batch_id, job_id: name }),
      makeEvent('job_epoch', { batch_id, job_id: name, data: { epoch: 0, [name]: 1 } }),
      makeEvent('job_epoch', { batch_id, job_id: name, data: { epoch: 1, [name]: 2, second: 'NaN' } }),
      makeEvent('job_epoch', { batch_id, job_id: name, data: { epoch: 0, third: 3 } }),
    ]
    for (const event of events) expect(await door.send(event)).toMatchObject({ status: 200 })
    const rows = await door.sql`select b.id batch, j.id job, p.series, p.epochs, p.last_value from jobs j
      join batches b on b.key = j.batch_key join job_progress p on p.job_key = j.key where b.id = ${batch_id}`
    expect(rows).toEqual([
      {
        batch: batch_id,
        job: name,
        series: [name, 'second', 'third'],
        epochs: 2,
        last_value: [2, Number.NaN, 3],
      },
    ])
    const epochs = await door.sql`select e.epoch, e.vals from epochs e join jobs j on j.key = e.job_key
      join batches b on b.key = j.batch_key where b.id = ${batch_id} order by epoch`
    expect(epochs).toEqual([
      { epoch: 0, vals: [1, null, 3] },
      { epoch: 1, vals: [2, Number.NaN] },
    ])
  })

  test.each([
    'line\nbreak',
    'tab\t',
    'bell\u0007',
    '\u0085 next line',
    '\r\n',
  ])('of series may hold control characters, which ids may not: %j', async (name) => {
    const batch_id = newBatch()
    const { body } = await door.sendAll([
      makeEvent('job_epoch', { batch_id, data: { epoch: 0, [name]: 1, other: 2 } }),
      makeEvent('job_epoch', { batch_id, job_id: `x${name}` }),
      makeEvent('job_epoch', { batch_id: `x${name}` }),
    ])
    expect(body.results).toMatchObject([
      { deduplicated: false },
      { error: { code: 'invalid_envelope' } },
      { error: { code: 'invalid_envelope' } },
    ])
    const rows =
      await door.sql`select series, last_value from job_progress p join batches b on b.key = p.batch_key
        where b.id = ${batch_id}`
    expect(rows).toEqual([{ series: [name, 'other'], last_value: [1, 2] }])
  })

  test.each([
    ...STRANGE.filter(
      // Names of projects are unique without regard to case.
      (name, i, all) =>
        name.trim() === name && all.findIndex((one) => one.toLowerCase() === name.toLowerCase()) === i,
    ),
    SMILEYS,
  ])('of projects that are older than the rules for names may be %j; a new project needs a valid name', async (project) => {
    const send = (batch_id: string, name: string) =>
      door.send(makeEvent('log_line', { batch_id, source: { project: name } }))
    const plain = /^[\w.-]+$/.test(project)
    const first = await send(newBatch(), project)
    expect([first.status, first.body.code]).toEqual(plain ? [200, undefined] : [422, 'invalid_project_name'])
    if (!plain) {
      const slug = `old-${batches}`
      expect((await send(newBatch(), slug)).status).toBe(200)
      await door.sql`update projects set slug = ${project} where slug = ${slug}`
    }
    const batch_id = newBatch()
    expect((await send(batch_id, project)).status).toBe(200)
    expect(
      await door.sql`select slug from projects p join batches b on b.project_key = p.key where b.id = ${batch_id}`,
    ).toEqual([{ slug: project }])
  })

  test('of params, metrics and tags come back exactly, __proto__ and constructor included', async () => {
    const batch_id = newBatch()
    const fields = json(
      JSON.stringify(Object.fromEntries(STRANGE.map((name, i) => [name, i]))).replace(
        '{',
        '{"__proto__":{"a":[null]},',
      ),
    )
    const tags = [...STRANGE, '', '\n']
    await door.sendAll([
      makeEvent('batch_start', { batch_id, data: { tags, env_snapshot: fields, config: fields } }),
      { ...makeEvent('job_start', { batch_id }), data: fields },
      makeEvent('job_done', { batch_id, data: { metrics: fields } }),
    ])
    const [row] =
      await door.sql`select b.tags, b.env_snapshot::text, j.params::text, j.metrics::text from batches b
      join jobs j on j.batch_key = b.key where b.id = ${batch_id}`
    expect(row?.tags).toEqual(tags)
    expect(JSON.parse(row?.params)).toEqual(fields)
    expect(JSON.parse(row?.metrics)).toEqual(fields)
    expect(Object.keys(JSON.parse(row?.params))).toContain('__proto__')
    const environment = JSON.parse(row?.env_snapshot)
    for (const [name, value] of Object.entries(fields)) {
      expect(Object.getOwnPropertyDescriptor(environment, name)?.value).toEqual(value)
    }
  })

  test('of levels and lines come back exactly', async () => {
    const batch_id = newBatch()
    const texts = [...STRANGE, '', '\n', 'a\nb\r\nc', '\t', '\u0001\u001f\u007f\u0085']
    const events = texts.map((line) =>
      makeEvent('log_line', { batch_id, data: { line, level: (line || 'x').slice(0, 32) } }),
    )
    expect((await door.sendAll(events)).body.results.filter((r: { error?: unknown }) => r.error)).toEqual([])
    const rows = await door.sql`select line, level from log_lines l join batches b on b.key = l.batch_key
      where b.id = ${batch_id} order by l.db_id`
    expect(rows).toEqual(texts.map((line) => ({ line, level: (line || 'x').slice(0, 32).toLowerCase() })))
  })
})

describe('an event that the database refuses', () => {
  let strict: Door
  beforeAll(async () => {
    strict = await openDoor()
    // What a value of a later release of PostgreSQL, or an operator's own constraint, would do.
    await strict.sql`alter table public.log_lines add constraint no_poison check (line not like 'poison%')`
  })
  afterAll(() => strict?.stop())
  const storedOf = async (batch_id: string): Promise<string[]> =>
    (
      await strict.sql`select line from log_lines l join batches b on b.key = l.batch_key where b.id = ${batch_id} order by line`
    ).map((r) => r.line)
  const line = (batch_id: string, text: string) =>
    makeEvent('log_line', { batch_id, data: { line: text, level: 'info' } })

  test('alone is 422 and leaves nothing behind', async () => {
    const event = line('alone', 'poison')
    expect(await strict.send(event)).toMatchObject({ status: 422, body: { code: 'invalid_event_data' } })
    expect(await strict.sql`select from batches where id = 'alone'`).toHaveLength(0)
    expect(await strict.sql`select from events where event_id = ${event.event_id}`).toHaveLength(0)
  })

  test('in an array is refused by position, and the other events are stored', async () => {
    const poisoned = new Set([0, 3, 4, 17, 99])
    const events = Array.from({ length: 100 }, (_, i) =>
      line('array', `${poisoned.has(i) ? 'poison' : 'line'} ${i}`),
    )
    const { status, body } = await strict.sendAll(events)
    expect(status).toBe(200)
    for (const [i, result] of body.results.entries()) {
      if (poisoned.has(i))
        expect(result).toMatchObject({ db_id: null, error: { status: 422, code: 'invalid_event_data' } })
      else expect(result).toEqual({ db_id: expect.any(Number), deduplicated: false })
    }
    expect(await storedOf('array')).toEqual(
      events
        .filter((_, i) => !poisoned.has(i))
        .map((e) => e.data.line)
        .sort(),
    )
    const [progress] =
      await strict.sql`select n_jobs from batch_progress p join batches b on b.key = p.batch_key
      where b.id = 'array'`
    expect(progress).toEqual({ n_jobs: 1 })
  })

  test('does not affect requests in the same transaction', async () => {
    // Many at once, so that they wait together and become one group.
    const events = Array.from({ length: 120 }, (_, i) =>
      line('shared', `${i % 10 === 0 ? 'poison' : 'line'} ${i}`),
    )
    const answers = await Promise.all(events.map((e) => strict.send(e)))
    for (const [i, answer] of answers.entries()) {
      expect(answer.status, JSON.stringify(answer.body)).toBe(i % 10 === 0 ? 422 : 200)
    }
    expect(await storedOf('shared')).toHaveLength(108)
  })

  test('is answered without the message of the database', async () => {
    const { body } = await strict.send(line('telling', 'poison'))
    expect(JSON.stringify(body)).not.toMatch(/no_poison|log_lines|constraint|relation/i)
  })
})
