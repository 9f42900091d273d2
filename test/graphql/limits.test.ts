import { parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BUDGET } from '../../src/graphql/costs.ts'
import { costOf, LIMITS } from '../../src/graphql/limits.ts'
import { buildSchema } from '../../src/graphql/schema.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { post } from './asking.ts'

// Bounds of one request (contract §6 "GraphQL"): the refusal of any query is 400, and quick.

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ costPerS: { visitor: 1e9, credential: 1e9 } })
  // What is measured is a refusal, not the first use of the server.
  await post(app, '{ __typename }')
})
afterAll(() => app?.stop())

const nested = (levels: number): string =>
  levels === 0 ? 'id' : `project { batches { edges { node { ${nested(levels - 1)} } } } }`

const BOMBS: Record<string, string> = {
  depth: `{ batches { edges { node { ${nested(10)} } } } }`,
  'depth through fragments': `{ batches { edges { node { ...a } } } }
    fragment a on Batch { project { batches { edges { node { ...b } } } } }
    fragment b on Batch { project { batches { edges { node { ...c } } } } }
    fragment c on Batch { project { batches { edges { node { id } } } } }`,
  aliases: `{ ${Array.from({ length: 200 }, (_, i) => `a${i}: viewer { id }`).join(' ')} }`,
  'aliases through fragments': `{ ${'...a '.repeat(50)} } fragment a on Query { ${Array.from({ length: 31 }, (_, i) => `a${i}: __typename`).join(' ')} }`,
  directives: `{ viewer ${'@include(if: true) '.repeat(500)} { id } }`,
  'unknown directives': `{ viewer ${'@a'.repeat(600)} { id } }`,
  tokens: `{ ${'viewer { id } '.repeat(3000)} }`,
  'a text of brackets': `{ ${'viewer { '.repeat(5_000)}`,
  'a text of nested values': `query ($a: Int = ${'['.repeat(20_000)}) { __typename }`,
  'a text of nested types': `query ($a: ${'['.repeat(20_000)}) { __typename }`,
  'pages of pages': '{ projects(first: 500) { edges { node { batches(first: 500) { totalCount } } } } }',
  'pages of pages of series':
    '{ projects(first: 50) { edges { node { batches(first: 50) { edges { node { jobs(first: 50) { edges { node { metrics { values } } } } } } } } } } }',
  'many counts':
    '{ batches(first: 500) { edges { node { jobs(first: 0) { totalCount } logLines(first: 1000) { totalCount } } } } }',
  'many series of whole batches':
    '{ batches(first: 500) { edges { node { metrics { values } a: metrics { values } } } } }',
  'many fields of one name': `{ ${'__typename '.repeat(60_000)} }`,
  'many operations': Array.from({ length: 700 }, (_, i) => `query a${i} { __typename }`).join(' '),
}

/** Fails unless one of many tries takes less than 100 ms: any one may wait for the garbage collector, or for others. */
async function expectFast(attempt: (n: number) => Promise<void>): Promise<void> {
  const times: number[] = []
  for (let n = 0; n < 3 || (n < 20 && Math.min(...times) >= 100); n++) {
    const began = performance.now()
    await attempt(n)
    times.push(performance.now() - began)
  }
  expect(Math.min(...times)).toBeLessThan(100)
}

describe('queries that cost too much', () => {
  const ACCEPTED = ['application/json', 'application/graphql-response+json', '*/*'] as const
  test.each(Object.keys(BOMBS))('%s: 400 in less than 100 ms, for either media type', (name) =>
    expectFast(async (n) => {
      const accept = ACCEPTED[n % ACCEPTED.length] as string
      const { status, body } = await post(app, BOMBS[name] as string, { headers: { accept } })
      expect(status, accept).toBe(400)
      expect(body.data).toBeUndefined()
      expect(body.errors.length).toBeGreaterThan(0)
    }))

  test.each([
    'depth',
    'depth through fragments',
    'aliases',
    'directives',
    'tokens',
  ])('the refusal of %s has a code, and says the limit', async (name) => {
    const { body } = await post(app, BOMBS[name] as string)
    expect(body.errors).toHaveLength(1)
    expect(body.errors[0].extensions.code).toBe('query_too_large')
    expect(body.errors[0].message).toMatch(/deeper than 12 levels|more than (30|20) |longer than 2000 tokens/)
  })

  test('fragments that contain each other are refused by the language', async () => {
    const query = `{ viewer { ...a } } fragment a on Viewer { ...b } fragment b on Viewer { id ...a }`
    const { body } = await post(app, query)
    expect(body.data).toBeUndefined()
    expect(body.errors[0].message).toMatch(/Cannot spread fragment "a" within itself/)
  })

  test('a fragment that is spread twice counts twice', async () => {
    const aliases = Array.from({ length: 16 }, (_, i) => `a${i}: __typename`).join(' ')
    const ask = (spreads: string) => post(app, `{ ${spreads} } fragment a on Query { ${aliases} }`)
    expect((await ask('...a')).status).toBe(200)
    expect((await ask('...a ...a')).status).toBe(400)
  })

  test('a cost that comes from variables is counted as well', async () => {
    const query =
      'query ($n: Int!) { batches(first: $n) { edges { node { jobs(first: $n) { totalCount } } } } }'
    const { status, body } = await post(app, query, { variables: { n: 500 } })
    expect(status).toBe(400)
    expect(body.errors[0].extensions.code).toBe('query_too_large')
    expect((await post(app, query, { variables: { n: 5 } })).status).toBe(200)
  })

  test('only the named operation is counted', async () => {
    const query = `query small { viewer { id } }
      query large { projects(first: 500) { edges { node { batches(first: 500) { edges { cursor } } } } } }`
    const call = (operationName: string) => app.call('POST', '/graphql', { body: { query, operationName } })
    expect((await call('small')).status).toBe(200)
    expect((await call('large')).status).toBe(400)
  })

  test.each([
    [
      'fragments in a circle',
      `{ batches { edges { node { ...a } } } } fragment a on Batch { project { batches { edges { node { ...a } } } } }`,
    ],
    [
      'deep introspection',
      `{ __schema { types { ${'fields { type { '.repeat(8)} name ${'} } '.repeat(8)} } } }`,
    ],
    ['fields that cannot merge', `{ ${'viewer { id: name id } '.repeat(200)} }`],
  ])('%s: no answer, in less than 100 ms', (_name, query) =>
    expectFast(async () => {
      const { body } = await post(app, query)
      expect(body.data).toBeUndefined()
      expect(body.errors.length).toBeGreaterThan(0)
    }))

  test('an array of queries is refused', async () => {
    const answer = await app.call('POST', '/graphql', {
      body: [{ query: '{ __typename }' }, { query: '{ __typename }' }],
    })
    expect(answer.status).toBe(400)
  })
})

/** Every project with its batches and their jobs. */
const PLAIN = `{ projects { edges { node { slug batches { totalCount edges { node { id name status startedAt jobs { totalCount
  edges { node { jobId status model params latest elapsedS } } } } } } } } } }`

describe('useful queries are within the limits', () => {
  const schema = buildSchema()
  const cost = (query: string) => costOf(schema, parse(query), {})

  test.each([
    [
      'the nested query of 50 batches of 20 jobs',
      '{ project(slug: "a") { batches(first: 50) { edges { node { jobs(first: 20) { edges { node { metrics { values } } } } } } } } }',
    ],
    [
      'the series of 5,000 jobs',
      '{ batch(id: "a") { jobs(first: 5000) { edges { node { jobId params latest metrics(sampling: {mode: M4, points: 500}) { key steps values } } } } } }',
    ],
    [
      'the jobs of a page of batches',
      '{ batches(first: 500) { edges { node { jobs(first: 50) { edges { node { jobId } } } } } } }',
    ],
    ['projects, their batches and their jobs, with the default sizes of pages', PLAIN],
  ])('%s', (_name, query) => {
    expect(cost(query)).toBeLessThanOrEqual(BUDGET)
  })

  test('projects, their batches and their jobs are answered', async () => {
    const { status, body } = await post(app, PLAIN)
    expect([status, body]).toEqual([200, { data: { projects: { edges: [] } } }])
  })

  test('the introspection of usual clients', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    const { status, body } = await post(app, getIntrospectionQuery())
    expect(status).toBe(200)
    expect(body.data.__schema.queryType.name).toBe('Query')
  })
})

test('a body beyond the limit is 413', async () => {
  const query = `{ __typename } ${'#'.repeat(LIMITS.bodyBytes)}`
  expect((await post(app, query)).status).toBe(413)
  const address = `/graphql?query=${encodeURIComponent(`{ __typename } ${'#'.repeat(20_000)}`)}`
  expect((await app.call('GET', address)).status).toBeGreaterThanOrEqual(400)
})

/** Every query for projects waits until `release`. */
const lockProjects = ({ sql }: TestApp): Promise<{ release: () => void; held: Promise<unknown> }> =>
  new Promise((locked) => {
    const held = sql.begin(async (tx) => {
      await tx`/* test.hold */ lock table projects in access exclusive mode`
      await new Promise<void>((release) => locked({ release, held }))
    })
  })

test('only a few heavy queries run at a time; others wait, too many are refused, and small ones are answered meanwhile', async () => {
  const { token } = await app.register()
  const { release, held } = await lockProjects(app)
  try {
    const room = LIMITS.heavyAtOnce + LIMITS.heavyWaiting
    const heavy = Array.from({ length: room }, () => post(app, PLAIN, { token }))
    // The last one is refused; all are sent at once, so any of them can be the last.
    const first = await Promise.race([...heavy, post(app, PLAIN, { token })])
    expect([first.status, first.body.errors[0].extensions.code]).toEqual([503, 'overloaded'])
    expect(first.headers['retry-after']).toBe('1')
    expect((await post(app, '{ __typename }', { token })).status).toBe(200)
    const waiting = await app.sql<{ n: number }[]>`/* test.waiting */
      select count(*)::int n from pg_locks where relation = 'projects'::regclass and not granted`
    expect(waiting[0]?.n).toBeLessThanOrEqual(LIMITS.heavyAtOnce)
    release()
    const answers = await Promise.all(heavy)
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(room - 1)
  } finally {
    release()
    await held
  }
})
