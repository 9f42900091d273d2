import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, nodesOf, post } from '../graphql/asking.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Stage } from './stage.ts'

/** The query language in REST and GraphQL, over batches, jobs, and the jobs of a batch (docs/query.md). */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  // One job each; the batch has the name of the job.
  const runs: [string, Record<string, unknown>, Record<string, unknown>, Record<string, unknown>][] = [
    [
      'a',
      { lr: 0.01, s: '10', b: true, n: 10, optimizer: 'adam', gpu_count: 2 },
      { loss: 'dice' },
      { 'avg model score': 0.9, 'gpu:0': 0.7, val_loss: 0.2 },
    ],
    [
      'b',
      { lr: '1e-2', s: 'ten', b: false, n: 11, optimizer: 'SGD', gpu_count: 8 },
      { loss: 'dice+ce' },
      { 'avg model score': 0.4, 'gpu:0': 0.2, val_loss: 0.4 },
    ],
    [
      'c',
      { lr: 1, s: 10, n: 12, gpu_count: 'many', loss: 'mse' },
      { loss: 'focal' },
      { val_loss: 'NaN', loss: 3 },
    ],
  ]
  await stage.send(
    stage.batchOwner,
    runs.flatMap(([id, params, config, values], i) => {
      const source = { project: 'vision', host: `box-${i}` }
      const at = (s: number) => new Date(Date.UTC(2026, 2, 1, 10, i, s)).toISOString()
      const event = (
        type: Parameters<typeof makeEvent>[0],
        s: number,
        data: object,
        job_id: string | null = id,
      ) => makeEvent(type, { batch_id: id, job_id, source, timestamp: at(s), data: { ...data } })
      return [
        event('batch_start', 0, { n_total: 1, config, tags: [`t-${id}`, 'all'] }, null),
        event('job_start', 1, params),
        event('job_epoch', 2, { epoch: 0, ...values, val_loss: 0.9 - i / 10 }),
        event('job_epoch', 3, { epoch: 1, ...values }),
        ...(id === 'c'
          ? [event('job_failed', 4, { reason: 'out of memory', elapsed_s: 3 })]
          : [event('job_done', 4, { metrics: { acc: 1 - i / 10 } })]),
      ]
    }),
  )
})
afterAll(() => stage?.stop())

const token = () => stage.batchOwner.token
const inRest = async (list: 'batches' | 'jobs', query: string) => {
  const { status, body } = await stage.get(`/api/${list}?project=vision&order=asc&${query}`, token())
  return { status, body, ids: (body.items ?? []).map((one: { id: string }) => one.id) }
}
const where = (text: string) => `where=${encodeURIComponent(text)}`

/** What each list finds, and which names it does not know. */
async function found(text: string) {
  const [batches, jobs] = await Promise.all([inRest('batches', where(text)), inRest('jobs', where(text))])
  const graph = await ask(
    stage.app,
    `query ($q: [String!]) {
      batches(filter: {project: ["vision"], where: $q}, orderBy: {by: STARTED_AT, direction: ASC}) { unknownNames totalCount edges { node { id } } }
      jobs(where: {where: $q}, batches: ["a", "b", "c"], orderBy: {by: STARTED_AT, direction: ASC}) { unknownNames totalCount edges { node { id: jobId } } }
      a: batch(id: "a") { jobs(where: {where: $q}) { totalCount } }
      b: batch(id: "b") { jobs(where: {where: $q}) { totalCount } }
      c: batch(id: "c") { jobs(where: {where: $q}) { totalCount } }
    }`,
    { token: token(), variables: { q: [text] } },
  )
  const ids = (connection: unknown) => nodesOf(connection).map((one) => one.id)
  return {
    lists: [
      batches.ids,
      jobs.ids,
      ids(graph.batches),
      ids(graph.jobs),
      ['a', 'b', 'c'].filter((id) => graph[id].jobs.totalCount === 1),
    ],
    counts: [graph.batches.totalCount, graph.jobs.totalCount],
    unknown: [
      batches.body.unknown_names,
      jobs.body.unknown_names,
      graph.batches.unknownNames,
      graph.jobs.unknownNames,
    ],
  }
}

describe('a query finds the same in all lists', () => {
  test.each<[string, string[]]>([
    // A configuration, which a parameter of that name precedes.
    ['loss:dice', ['a', 'b']],
    ['loss=dice', ['a']],
    ['loss:mse', ['c']],
    ['config.loss:focal', ['c']],
    ['last.loss>2', ['c']],
    ['"avg model score">0.5', ['a']],
    ['last."avg model score"<=0.4', ['b']],
    ['"last.avg model score"<=0.4', ['b']],
    ['"gpu:0">0.5', ['a']],
    // Text that reads as a number compares with numbers too.
    ['s=10', ['a', 'c']],
    ['s<11', ['a', 'c']],
    ['s=TEN', ['b']],
    ['lr:"1e-2"', ['a', 'b']],
    ['lr=0.01', ['a', 'b']],
    ['lr<=1e-2', ['a', 'b']],
    ['b=True', ['a']],
    ['b:false', ['b']],
    ['n==10', ['a']],
    ['n!=10', ['b', 'c']],
    ['optimizer=sgd', ['b']],
    ['optimizer:AD', ['a']],
    ['optimizer!=adam', ['b']],
    ['optimizer>a', ['a']],
    // Declared fields, under their names and where they were sent as a parameter.
    ['gpu_count>=2', ['a', 'b']],
    ['param.gpu_count>2', ['b']],
    ['gpu_count:many', ['c']],
    ['epochs=2', ['a', 'b', 'c']],
    ['elapsed_s>=3', ['a', 'b', 'c']],
    ['elapsed>1e12', []],
    ['host:BOX-1', ['b']],
    ['host!=box-1', ['a', 'c']],
    ['project:vision', ['a', 'b', 'c']],
    ['owner:batch-owner', ['a', 'b', 'c']],
    ['owner:someone', []],
    ['n_total=1 host:box-2', ['c']],
    ['started_at>=2026-03-01T10:01', ['b', 'c']],
    ['started_at<2026-03-01', []],
    ['starred:false', ['a', 'b', 'c']],
    ['pruned:true', []],
    // Metrics.
    ['val_loss<0.3', ['a']],
    ['val_loss=NaN', ['c']],
    ['last.val_loss<1', ['a', 'b']],
    ['best.val_loss<0.75', ['a', 'b', 'c']],
    ['best.val_loss<0.3', ['a']],
    ['min.val_loss<0.3', ['a']],
    ['max.val_loss>0.85', ['a']],
    ['acc>0.95', ['a']],
    ['final.acc>=0.9', ['a', 'b']],
    // AND, OR, NOT and brackets.
    ['lr<1 OR n=12', ['a', 'b', 'c']],
    ['lr<1 AND NOT optimizer:adam', ['b']],
    ['(optimizer:adam OR optimizer:sgd) val_loss>0.3', ['b']],
    ['NOT (s=10 OR b=false)', []],
    ['NOT val_loss<0.3', ['b', 'c']],
    ['NOT s=10 OR n==10', ['a', 'b']],
    ['lr<0.01', []],
  ])('%s', async (text, wanted) => {
    const { lists, counts, unknown } = await found(text)
    for (const ids of lists) expect(ids).toEqual(wanted)
    expect(counts).toEqual([wanted.length, wanted.length])
    expect(unknown).toEqual([[], [], [], []])
  })

  test.each<[string, string[], string[]]>([
    ['nonesuch<1', [], ['nonesuch']],
    ['nonesuch<1 OR n=10', ['a'], ['nonesuch']],
    ['NOT nonesuch<1', ['a', 'b', 'c'], ['nonesuch']],
    ['param.val_loss<1 config.none:1 best.acc>0', [], ['param.val_loss', 'config.none', 'best.acc']],
    ['"avg model">0.5 opt/lr<1', [], ['avg model', 'opt/lr']],
  ])('%s names what nothing has', async (text, wanted, unknown) => {
    const all = await found(text)
    for (const ids of all.lists) expect(ids).toEqual(wanted)
    for (const names of all.unknown) expect(names).toEqual(unknown)
  })
})

test('words, tags and states are of the listed rows', async () => {
  expect((await inRest('batches', where('tag:T-A'))).ids).toEqual(['a'])
  expect((await inRest('batches', where('tag!=t-a all'))).ids).toEqual(['b', 'c'])
  expect((await inRest('jobs', where('tag:t-a'))).ids).toEqual([])
  expect((await inRest('jobs', where('status:failed reason:memory'))).ids).toEqual(['c'])
  expect((await inRest('batches', where('status:running NOT t-b'))).ids).toEqual(['a', 'c'])
})

test('a query that is not understood is refused with its position, and never filters nothing', async () => {
  const fault = 'lr< needs a value, such as lr<0.1 (at character 5)'
  for (const list of ['batches', 'jobs'] as const) {
    const { status, body } = await inRest(list, where('n=1 lr<'))
    expect(status).toBe(422)
    expect(body).toMatchObject({
      code: 'invalid_query',
      detail: `where: ${fault}`,
      errors: [{ path: 'where', message: fault, position: 5 }],
    })
    for (const text of [
      'status:runing',
      'starred:yess',
      'started_at>soon',
      'host<3',
      'n_total<many',
      'gpu:0>0.5',
      'a<1 or b<1',
      ' ',
      'x '.repeat(51),
    ])
      expect([text, (await inRest(list, where(text))).status]).toEqual([text, 422])
  }
  const { body } = await post(stage.app, '{ batches(filter: {where: ["n=1 lr<"]}) { totalCount } }', {
    token: token(),
  })
  expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_query', errors: [{ position: 5 }] })
  const many = Array.from({ length: 26 }, () => where('a<1 b<1')).join('&')
  expect((await inRest('batches', many)).body.detail).toBe('where: at most 50 conditions together')
})

test('values are never SQL', async () => {
  const texts = [
    `s="' OR 1=1 --"`,
    `"'; drop table jobs; --"=1`,
    `s:"%"`,
    `"\\\\' || 'x"<"\\\\"`,
    'param."$1"=$2',
    `n="1); --"`,
  ]
  for (const text of texts)
    for (const list of ['batches', 'jobs'] as const)
      expect([text, await inRest(list, where(text))]).toMatchObject([text, { status: 200, ids: [] }])
})

describe('the same names order and are shown', () => {
  test.each<[string, string[]]>([
    ['n', ['a', 'b', 'c']],
    ['gpu_count', ['a', 'b', 'c']],
    ['param.gpu_count', ['a', 'b', 'c']],
    ['best.val_loss', ['a', 'b', 'c']],
    ['val_loss', ['a', 'b', 'c']],
    ['optimizer', ['b', 'a', 'c']],
    ['config.loss', ['a', 'b', 'c']],
    ['final.acc', ['b', 'a', 'c']],
    ['host', ['a', 'b', 'c']],
    ['started_at', ['a', 'b', 'c']],
    ['loss', ['a', 'b', 'c']],
  ])('by %s', async (name, wanted) => {
    for (const list of ['batches', 'jobs'] as const) {
      const { ids, body } = await inRest(list, `sort=${name}`)
      expect([list, ids]).toEqual([list, wanted])
      if (name !== 'started_at' && name !== 'host') expect(body.unknown_names).toEqual([])
    }
    const { jobs } = await ask(
      stage.app,
      `{ jobs(batches: ["a", "b", "c"], orderBy: {by: FIELD, key: "${name}", direction: ASC}) { edges { node { id: jobId } } } }`,
      { token: token() },
    )
    expect(nodesOf(jobs).map(({ id }) => id)).toEqual(wanted)
  })

  test('an unknown one is named, and the newest come first', async () => {
    for (const list of ['batches', 'jobs'] as const) {
      const { ids, body } = await inRest(list, 'sort=nonesuch')
      expect(ids).toEqual(['c', 'b', 'a'])
      expect(body.unknown_names).toEqual(['nonesuch'])
    }
  })

  test('columns', async () => {
    const names = [
      'gpu_count',
      'param.gpu_count',
      'host',
      'tags',
      'loss',
      'config.loss',
      'best.val_loss',
      'final.acc',
      'n_total',
      'nonesuch',
    ]
    const { body } = await inRest('batches', names.map((one) => `columns=${one}`).join('&'))
    expect(body.unknown_names).toEqual(['nonesuch'])
    const one = (value: unknown) => ({ low: value, high: value, n: 1 })
    expect(body.items[0].columns).toEqual({
      gpu_count: one(2),
      'param.gpu_count': one(2),
      host: one('box-0'),
      tags: one(['t-a', 'all']),
      loss: one('dice'),
      'config.loss': one('dice'),
      'best.val_loss': one(0.2),
      'final.acc': one(1),
      n_total: one(1),
    })
    expect(body.items[2].columns.gpu_count).toEqual(one('many'))
    expect(body.items[2].columns.loss).toEqual(one('mse'))
  })
})

test('a name is unknown where only others have it', async () => {
  await stage.send(stage.owner, [
    makeEvent('batch_start', {
      batch_id: 'other',
      job_id: null,
      source: { project: 'secret' },
      data: { n_total: 1, config: { hidden: 1 } },
    }),
  ])
  const { body } = await stage.get(`/api/batches?${where('hidden=1')}`, stage.batchOwner.token)
  expect(body).toMatchObject({ items: [], unknown_names: ['hidden'] })
  const own = await stage.get(`/api/batches?${where('hidden=1')}`, stage.owner.token)
  expect(own.body).toMatchObject({ items: [{ id: 'other' }], unknown_names: [] })
})

test('the same names group series', async () => {
  const groups = async (name: string) => {
    const { status, body } = await stage.get(
      `/api/batches/a/metrics/groups?keys=val_loss&group_by=${encodeURIComponent(name)}`,
      token(),
    )
    expect([name, status]).toEqual([name, 200])
    return [body.groups.map((one: { group: string | null }) => one.group), body.unknown_names]
  }
  for (const [name, value] of [
    ['gpu_count', '2'],
    ['param.gpu_count', '2'],
    ['n', '10'],
    ['loss', 'dice'],
    ['config.loss', 'dice'],
    ['host', 'box-0'],
    ['pruned', 'false'],
    ['best.val_loss', '0.2'],
    ['acc', '1'],
    ['status', 'completed'],
  ] as const)
    expect(await groups(name)).toEqual([[value], undefined])
  expect(await groups('nonesuch')).toEqual([[null], ['nonesuch']])
  const { shares } = {
    shares: await stage.app.call('POST', '/api/batches/a/shares', {
      token: token(),
      body: { anonymous: true },
    }),
  }
  const shared = await ask(
    stage.app,
    'query ($t: String!) { sharedBatch(token: $t) { host: metricGroups(groupBy: "host") { group } loss: metricGroups(groupBy: "config.loss") { group } jobs(where: {where: ["loss:dice OR host:box-0 OR optimizer:adam"]}) { totalCount } } }',
    { variables: { t: shares.body.token } },
  )
  for (const { group } of [...shared.sharedBatch.host, ...shared.sharedBatch.loss]) expect(group).toBeNull()
  expect(shared.sharedBatch.jobs.totalCount).toBe(0)
})
