import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { type Asked, ask, nodesOf, post } from './asking.ts'

// Filters, orders and pages (contract §6), as a notebook requests them.

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  const source = { project: 'vision' }
  const events: unknown[] = []
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
  const batch = (id: string, minute: number, host: string, tags: string[]) =>
    startOf({ id, timestamp: at(minute), source: { host } }, { n_total: 9, tags })
  events.push(
    batch('sweep', 10, 'Box1', ['night', 'Ünï']),
    batch('other', 20, 'box2', []),
    batch('third', 30, 'box1', []),
  )
  const job = (
    job_id: string,
    minute: number,
    params: Record<string, unknown>,
    loss?: number | string,
    metrics?: Record<string, unknown>,
    batch_id = 'sweep',
  ) => {
    events.push(makeEvent('job_start', { batch_id, job_id, source, timestamp: at(minute), data: params }))
    if (loss !== undefined) {
      events.push(
        makeEvent('job_epoch', {
          batch_id,
          job_id,
          source,
          timestamp: at(minute),
          data: { epoch: 4, val_loss: loss },
        }),
      )
    }
    if (metrics !== undefined) {
      events.push(
        makeEvent('job_done', { batch_id, job_id, source, timestamp: at(minute), data: { metrics } }),
      )
    }
  }
  job('a', 11, { lr: 0.001, opt: 'adam', net: { depth: 18 } }, 0.5, { acc: 0.8 })
  job('b', 12, { lr: 0.1, opt: 'sgd', net: { depth: 50 } }, 0.2, { acc: 0.9 })
  job('c', 13, { lr: 0.005, opt: 'sgd' }, 'NaN', { acc: 'NaN' })
  job('d', 14, { lr: 'auto', opt: 'sgd' }, 0.3, { acc: 'skipped' })
  job('e', 15, { lr: 0.002, model: 'ResNet', fast: true }, 'Infinity')
  job('f', 16, {})
  job('x', 21, { lr: 0.0001 }, 0.1, { acc: 0.99 }, 'other')
  await stage.send(stage.batchOwner, events)
})
afterAll(() => stage?.stop())

/** Ids of the jobs of the sweep under these arguments. */
async function jobs(args: string, variables?: Record<string, unknown>): Promise<string[]> {
  const used = ['where', 'orderBy'].filter((name) => args.includes(`$${name}`))
  const types = used.map((name) => `$${name}: ${name === 'where' ? 'JobFilter' : 'JobOrder'}`)
  const head = used.length === 0 ? '' : `query (${types.join(', ')}) `
  const query = `${head}{ batch(id: "sweep") { jobs${args} { totalCount edges { node { jobId } } } } }`
  const asked = { token: stage.viewer.token, ...(variables && { variables }) }
  const { batch } = await ask(stage.app, query, asked)
  const ids = nodesOf(batch.jobs).map(({ jobId }) => jobId)
  // With any filter, the count is that of the whole list.
  if (!args.includes('first')) expect(batch.jobs.totalCount).toBe(ids.length)
  return ids
}
const params = (...all: string[]) =>
  jobs(`(where: {params: [${all.join(', ')}]}, orderBy: {by: STARTED_AT, direction: ASC})`)
const latest = (one: string) => jobs(`(where: {latest: [${one}]}, orderBy: {by: STARTED_AT, direction: ASC})`)

describe('jobs', () => {
  test('are listed newest first', async () => {
    expect(await jobs('')).toEqual(['f', 'e', 'd', 'c', 'b', 'a'])
    expect(await jobs('(orderBy: {by: STARTED_AT, direction: ASC})')).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  test('are filtered by numeric parameters, with every operator', async () => {
    expect(await params('{key: "lr", op: LT, number: 0.005}')).toEqual(['a', 'e'])
    expect(await params('{key: "lr", op: LE, number: 0.005}')).toEqual(['a', 'c', 'e'])
    expect(await params('{key: "lr", op: EQ, number: 0.005}')).toEqual(['c'])
    expect(await params('{key: "lr", op: NE, number: 0.005}')).toEqual(['a', 'b', 'e'])
    expect(await params('{key: "lr", op: GE, number: 0.005}')).toEqual(['b', 'c'])
    expect(await params('{key: "lr", op: GT, number: 0.005}')).toEqual(['b'])
  })

  test('are filtered by text parameters, and by booleans as "true" and "false"', async () => {
    expect(await params('{key: "opt", op: EQ, text: "sgd"}')).toEqual(['b', 'c', 'd'])
    expect(await params('{key: "opt", op: LT, text: "b"}')).toEqual(['a'])
    expect(await params('{key: "lr", op: NE, text: "x"}')).toEqual(['d'])
    expect(await params('{key: "fast", op: EQ, text: "true"}')).toEqual(['e'])
  })

  test('are filtered by a nested parameter', async () => {
    expect(await params('{key: "net/depth", op: GT, number: 20}')).toEqual(['b'])
  })

  test('must meet all conditions', async () => {
    expect(await params('{key: "lr", op: GT, number: 0.001}', '{key: "opt", op: EQ, text: "sgd"}')).toEqual([
      'b',
      'c',
    ])
  })

  test('are filtered by the last value of a series; NaN equals only NaN, and is neither less nor greater', async () => {
    expect(await latest('{key: "val_loss", op: LT, number: 0.4}')).toEqual(['b', 'd'])
    expect(await latest('{key: "val_loss", op: GT, number: 0.4}')).toEqual(['a', 'e'])
    expect(await latest('{key: "val_loss", op: EQ, number: "NaN"}')).toEqual(['c'])
    expect(await latest('{key: "val_loss", op: NE, number: "NaN"}')).toEqual(['a', 'b', 'd', 'e'])
    expect(await latest('{key: "val_loss", op: GE, number: "NaN"}')).toEqual([])
    expect(await latest('{key: "val_loss", op: EQ, number: "Infinity"}')).toEqual(['e'])
    expect(await latest('{key: "epoch", op: EQ, number: 4}')).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await latest('{key: "val_loss", op: EQ, text: "0.2"}')).toEqual([])
  })

  test('are filtered by final metrics', async () => {
    const by = (one: string) => jobs(`(where: {finalMetrics: [${one}]})`)
    expect(await by('{key: "acc", op: GE, number: 0.8}')).toEqual(['b', 'a'])
    expect(await by('{key: "acc", op: EQ, number: "NaN"}')).toEqual(['c'])
    expect(await by('{key: "acc", op: EQ, text: "skipped"}')).toEqual(['d'])
  })

  test('are filtered by status, model and text', async () => {
    expect(await jobs('(where: {status: COMPLETED})')).toEqual(['d', 'c', 'b', 'a'])
    expect(await jobs('(where: {status: [RUNNING, LOST], model: "resnet"})')).toEqual(['e'])
    expect(await jobs('(where: {q: ["RESN", "nothing"]})')).toEqual(['e'])
  })

  test('are ordered by numbers, texts, NaN and missing values, in both directions', async () => {
    expect(await jobs('(orderBy: {by: LATEST, key: "val_loss", direction: ASC})')).toEqual([
      'b',
      'd',
      'a',
      'e',
      'c',
      'f',
    ])
    expect(await jobs('(orderBy: {by: LATEST, key: "val_loss", direction: DESC})')).toEqual([
      'e',
      'a',
      'd',
      'b',
      'c',
      'f',
    ])
    expect(await jobs('(orderBy: {by: FINAL_METRIC, key: "acc", direction: ASC})')).toEqual([
      'a',
      'b',
      'd',
      'c',
      'f',
      'e',
    ])
    expect(await jobs('(orderBy: {by: FINAL_METRIC, key: "acc"})')).toEqual(['b', 'a', 'd', 'c', 'f', 'e'])
    expect(await jobs('(orderBy: {by: PARAM, key: "lr", direction: ASC})')).toEqual([
      'a',
      'e',
      'c',
      'b',
      'd',
      'f',
    ])
    expect(await jobs('(orderBy: {by: STATUS, direction: ASC})')).toEqual(['d', 'c', 'b', 'a', 'f', 'e'])
  })

  test('the best ones of a small learning rate take one query with variables', async () => {
    const variables = {
      where: { params: [{ key: 'lr', op: 'LT', number: 0.01 }] },
      orderBy: { by: 'LATEST', key: 'val_loss', direction: 'ASC' },
    }
    expect(await jobs('(first: 2, where: $where, orderBy: $orderBy)', variables)).toEqual(['a', 'e'])
  })

  test('of a project are the jobs of all its batches', async () => {
    const query = `{ project(slug: "vision") { jobs(
      first: 2, where: { params: [{ key: "lr", op: LT, number: 1 }] }, orderBy: { by: LATEST, key: "val_loss", direction: ASC }
    ) { totalCount edges { node { jobId batchId } } } } }`
    const { project } = await ask(stage.app, query, { token: stage.viewer.token })
    expect(project.jobs.totalCount).toBe(5)
    expect(nodesOf(project.jobs)).toEqual([
      { jobId: 'x', batchId: 'other' },
      { jobId: 'b', batchId: 'sweep' },
    ])
  })
})

describe('batches', () => {
  const found = async (args: string, token = stage.viewer.token) => {
    const { batches } = await ask(stage.app, `{ batches${args} { totalCount edges { node { id } } } }`, {
      token,
    })
    expect(batches.totalCount).toBe(batches.edges.length)
    return nodesOf(batches).map(({ id }) => id)
  }

  test('are listed newest first, or in the requested order', async () => {
    expect(await found('')).toEqual(['third', 'other', 'sweep'])
    expect(await found('(orderBy: {by: STARTED_AT, direction: ASC})')).toEqual(['sweep', 'other', 'third'])
    expect(await found('(orderBy: {by: HOST, direction: ASC})')).toEqual(['sweep', 'third', 'other'])
    expect(await found('(orderBy: {by: LAST_SEEN_AT})')).toEqual(['third', 'other', 'sweep'])
  })

  test('are filtered by any word of a field, ignoring case, and by all fields', async () => {
    expect(await found('(filter: {host: "BOX1"})')).toEqual(['third', 'sweep'])
    expect(await found('(filter: {host: "box1", tag: ["NIGHT", "no"]})')).toEqual(['sweep'])
    expect(await found('(filter: {tag: "ünï"})')).toEqual(['sweep'])
    expect(await found('(filter: {q: "thi"})')).toEqual(['third'])
    expect(await found('(filter: {status: [RUNNING]})')).toHaveLength(3)
    expect(await found('(filter: {status: COMPLETED})')).toEqual([])
    expect(await found('(filter: {project: "vision"})')).toHaveLength(3)
    expect(await found('(filter: {project: "open"})')).toEqual([])
    expect(await found('(filter: {owner: "batch-owner@example.org"})')).toHaveLength(3)
    expect(await found('(filter: {owner: "stranger@example.org"})')).toEqual([])
  })

  test('of projects that the caller cannot read are in no list', async () => {
    expect(await found('', stage.stranger.token)).toEqual([])
    expect(await found('(filter: {project: "vision"})', stage.stranger.token)).toEqual([])
  })

  test('that were deleted are in no list', async () => {
    await stage.send(stage.batchOwner, [startOf({ id: 'gone' })])
    expect(
      (await stage.app.call('DELETE', '/api/batches/gone', { token: stage.batchOwner.token })).status,
    ).toBe(204)
    expect(await found('')).not.toContain('gone')
    const query = '{ batch(id: "gone") { id } project(slug: "vision") { batches { edges { node { id } } } } }'
    const { batch, project } = await ask(stage.app, query, { token: stage.viewer.token })
    expect(batch).toBeNull()
    expect(nodesOf(project.batches)).toHaveLength(3)
  })
})

describe('pages', () => {
  const PAGE = `query ($after: String, $orderBy: JobOrder) { batch(id: "sweep") { jobs(first: 2, after: $after, orderBy: $orderBy) {
    edges { cursor node { jobId } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } } }`

  test('of every order contain each row once', async () => {
    for (const orderBy of [
      null,
      { by: 'STARTED_AT', direction: 'ASC' },
      { by: 'STATUS', direction: 'DESC' },
      { by: 'LATEST', key: 'val_loss', direction: 'DESC' },
      { by: 'FINAL_METRIC', key: 'acc', direction: 'ASC' },
      { by: 'PARAM', key: 'lr', direction: 'ASC' },
      { by: 'PARAM', key: 'no such', direction: 'ASC' },
    ]) {
      const whole = await jobs('(orderBy: $orderBy)', { orderBy })
      const seen: string[] = []
      let after: string | null = null
      for (let page = 1; ; page++) {
        const asked: Asked = { token: stage.viewer.token, variables: { after, orderBy } }
        const { batch } = await ask(stage.app, PAGE, asked)
        const { jobs } = batch
        seen.push(...nodesOf(jobs).map(({ jobId }) => jobId))
        expect(jobs.pageInfo).toEqual({
          hasNextPage: page < 3,
          hasPreviousPage: page > 1,
          startCursor: jobs.edges[0].cursor,
          endCursor: jobs.edges.at(-1).cursor,
        })
        if (!jobs.pageInfo.hasNextPage) break
        after = jobs.pageInfo.endCursor
      }
      expect(seen, JSON.stringify(orderBy)).toEqual(whole)
    }
  })

  test('refuse the cursor of another order and an invalid cursor', async () => {
    const first = await ask(stage.app, PAGE, { token: stage.viewer.token, variables: {} })
    const { endCursor } = first.batch.jobs.pageInfo
    for (const variables of [
      { after: endCursor, orderBy: { by: 'STATUS', direction: 'ASC' } },
      { after: 'made up' },
      {
        after: Buffer.from(JSON.stringify(['', [0, 0, '', '2026-02-30T00:00:00Z', 1]])).toString('base64url'),
      },
    ]) {
      const { body } = await post(stage.app, PAGE, { token: stage.viewer.token, variables })
      expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_cursor', status: 422 })
    }
  })

  test('exist for empty lists, and for projects, batches and log lines', async () => {
    const query = `query ($after: String) { projects(first: 1, after: $after) {
      totalCount pageInfo { hasNextPage endCursor } edges { node { slug batches(first: 0) { totalCount edges { cursor } pageInfo { hasNextPage } } } }
    } }`
    const { projects } = await ask(stage.app, query, { token: stage.viewer.token })
    expect(projects).toMatchObject({
      totalCount: 2,
      edges: [{ node: { slug: 'open' } }],
      pageInfo: { hasNextPage: true },
    })
    expect(projects.edges[0].node.batches).toEqual({
      totalCount: 0,
      edges: [],
      pageInfo: { hasNextPage: false },
    })
    const variables = { after: projects.pageInfo.endCursor }
    const next = await ask(stage.app, query, { token: stage.viewer.token, variables })
    expect(next.projects).toMatchObject({
      edges: [{ node: { slug: 'vision' } }],
      pageInfo: { hasNextPage: false },
    })
  })
})

describe('invalid arguments', () => {
  test.each([
    ['jobs(first: -1)', 'first must not be negative'],
    ['jobs(first: 5001)', 'first must be at most 5000'],
    ['jobs(where: {params: [{key: "lr", op: LT}]})', 'either number or text'],
    ['jobs(where: {params: [{key: "lr", op: LT, number: 1, text: "a"}]})', 'either number or text'],
    ['jobs(orderBy: {by: PARAM})', 'take a key'],
    ['jobs(orderBy: {by: STATUS, key: "a"})', 'take a key'],
    ['jobs(where: {model: "a\\u0000"})', 'must be without NUL characters'],
  ])('%s are refused with a reason', async (field, reason) => {
    const query = `{ batch(id: "sweep") { ${field} { totalCount } } }`
    const { body } = await post(stage.app, query, { token: stage.viewer.token })
    expect(body.errors[0].message).toMatch(new RegExp(reason))
    expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_query', status: 422 })
  })
})
