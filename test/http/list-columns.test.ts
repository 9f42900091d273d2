import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listedBatch } from '../../src/http/batches/batch-shapes.ts'
import { createWriter } from '../../src/stream/commit.ts'
import { storeFieldsOfBatches } from '../../src/workers/batch-fields.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  // Two jobs each, but `bare`, which has none, and `nan`, which diverged.
  const runs = [
    ['one', 'box-b', [0.1, 0.01], [0.5, 0.4]],
    ['two', 'box-a', [0.001, 0.001], [0.9, 0.2]],
    ['nan', 'box-c', [1], ['NaN']],
  ] as const
  const events = runs.flatMap(([id, host, lrs, losses], n) => {
    const source = { project: 'vision', host }
    const at = (s: number) => new Date(Date.UTC(2026, 2, 1, 10, n, s)).toISOString()
    return [
      makeEvent('batch_start', {
        batch_id: id,
        source,
        timestamp: at(0),
        data: { n_total: 4, tags: [`tag-${id}`] },
      }),
      ...lrs.map((lr, i) =>
        makeEvent('job_start', {
          batch_id: id,
          job_id: `job-${i}`,
          source,
          timestamp: at(1),
          data: { lr, model: i === 0 ? 'tiny' : 'large' },
        }),
      ),
      ...losses.flatMap((loss, i) =>
        [0, 1].map((epoch) =>
          makeEvent('job_epoch', {
            batch_id: id,
            job_id: `job-${i}`,
            source,
            timestamp: at(10 * i + epoch + 2),
            data: { epoch, val_loss: epoch === 0 && typeof loss === 'number' ? loss / 2 : loss },
          }),
        ),
      ),
    ]
  })
  await stage.send(stage.batchOwner, [
    ...events,
    makeEvent('batch_start', { batch_id: 'bare', timestamp: '2026-03-01T09:00:00Z' }),
  ])
})
afterAll(() => stage?.stop())

async function list(query: string) {
  const { status, body } = await stage.get(`/api/batches?project=vision&${query}`, stage.batchOwner.token)
  return { status, body, ids: (body.items ?? []).map((item: { id: string }) => item.id) as string[] }
}

describe('the list of batches in another order', () => {
  test.each([
    ['sort=started_at&order=asc', ['bare', 'one', 'two', 'nan']],
    ['sort=host&order=asc', ['two', 'one', 'nan', 'bare']],
    ['sort=id&order=asc', ['bare', 'nan', 'one', 'two']],
    // Of several values the least counts when ascending, and the greatest when descending.
    ['sort=param.lr&order=asc', ['two', 'one', 'nan', 'bare']],
    ['sort=param.lr&order=desc', ['nan', 'one', 'two', 'bare']],
    ['sort=param.model&order=asc', ['two', 'one', 'nan', 'bare']],
    ['sort=last.val_loss&order=asc', ['two', 'one', 'nan', 'bare']],
    ['sort=min.val_loss&order=asc', ['two', 'one', 'nan', 'bare']],
    ['sort=max.val_loss&order=desc', ['two', 'one', 'nan', 'bare']],
    ['sort=progress&order=desc', ['nan', 'two', 'one', 'bare']],
    ['sort=elapsed&order=desc', ['two', 'one', 'nan', 'bare']],
    ['sort=owner&order=asc', ['nan', 'two', 'one', 'bare']],
  ])('%s, whole and page by page', async (query, wanted) => {
    expect((await list(query)).ids).toEqual(wanted)
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { ids, body } = await list(`${query}&limit=1${cursor}`)
      paged.push(...ids)
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(paged).toEqual(wanted)
  })

  test('a cursor of one order is refused for another order', async () => {
    const { body } = await list('sort=param.lr&limit=1')
    for (const other of ['sort=param.lr&order=asc', 'sort=param.model', 'q=x&sort=param.lr', ''])
      expect((await list(`${other}&cursor=${body.next_cursor}`)).status, other).toBe(422)
  })

  test('an order or a query that cannot be understood is refused and named', async () => {
    for (const bad of ['sort=param.', 'order=up', 'columns=last.', 'where=lr%3C', 'where=%3C3']) {
      const { status, body } = await list(bad)
      expect([bad, status]).toEqual([bad, 422])
      expect(body.errors[0].path).toContain(bad.split('=', 1)[0])
    }
  })
})

describe('conditions on fields of the jobs', () => {
  test.each([
    ['lr<0.01', ['two']],
    [' lr < 0.01 ', ['two']],
    ['lr<=0.01', ['two', 'one']],
    ['lr>=0.1', ['nan', 'one']],
    ['param.model=large', ['two', 'one']],
    ['val_loss<0.3', ['two']],
    ['last.val_loss=NaN', ['nan']],
    ['min.val_loss<0.15', ['two']],
    ['max.val_loss>0.8', ['two']],
    ['param.val_loss<1', []],
    ['nothing=1', []],
    ['model:TIN', ['nan', 'two', 'one']],
    ['param.model:arg', ['two', 'one']],
    ['lr:0.1', ['one']],
    ['config.lr<1', []],
  ])('%s', async (condition, wanted) => {
    expect((await list(`where=${encodeURIComponent(condition)}`)).ids).toEqual(wanted)
  })

  test('are combined with AND, also with the other filters', async () => {
    const two = `where=${encodeURIComponent('lr>0.0001')}&where=${encodeURIComponent('val_loss<0.5')}`
    expect((await list(two)).ids).toEqual(['two', 'one'])
    expect((await list(`${two}&host=box-b`)).ids).toEqual(['one'])
  })
})

test('columns come with each batch: a range of a parameter, one value of a series', async () => {
  const { body } = await list(
    'columns=param.lr&columns=param.model&columns=last.val_loss&columns=min.val_loss',
  )
  const columns = Object.fromEntries(
    body.items.map((item: { id: string; columns: unknown }) => [item.id, item.columns]),
  )
  const one = (value: unknown) => ({ low: value, high: value, n: 1 })
  expect(columns).toEqual({
    one: {
      'param.lr': { low: 0.01, high: 0.1, n: 2 },
      'param.model': { low: 'large', high: 'tiny', n: 2 },
      'last.val_loss': one(0.4),
      'min.val_loss': one(0.2),
    },
    two: {
      'param.lr': one(0.001),
      'param.model': { low: 'large', high: 'tiny', n: 2 },
      'last.val_loss': one(0.2),
      'min.val_loss': one(0.1),
    },
    nan: {
      'param.lr': one(1),
      'param.model': one('tiny'),
      'last.val_loss': one('NaN'),
      'min.val_loss': one('NaN'),
    },
    bare: {},
  })
  for (const item of body.items) expect(listedBatch.parse(item)).toEqual(item)
})

test('batches can be requested by ids; those that the caller cannot read are left out', async () => {
  expect((await list('id=one&id=bare&id=unknown')).ids).toEqual(['one', 'bare'])
  const { body } = await stage.get('/api/batches?id=one', stage.stranger.token)
  expect(body.items).toEqual([])
})

test('a project lists the fields that it can be filtered by', async () => {
  const { status, body } = await stage.get('/api/projects/vision/fields', stage.viewer.token)
  expect(status).toBe(200)
  expect(body).toEqual({
    params: ['lr', 'model'],
    series: ['val_loss'],
    main_metric: 'val_loss',
    hosts: ['box-a', 'box-b', 'box-c'],
    owners: ['batch-owner'],
    tags: ['tag-nan', 'tag-one', 'tag-two'],
    values: { model: ['large', 'tiny'] },
  })
})

test('the main metric is the preferred loss that most jobs have', async () => {
  const mainOf = async (project: string, jobs: readonly Record<string, number>[]) => {
    for (const [i, data] of jobs.entries()) {
      const of = { batch_id: project, job_id: `job-${i}`, source: { project } }
      await stage.send(stage.admin, [
        makeEvent('job_start', of),
        makeEvent('job_epoch', { ...of, data: { epoch: 0, ...data } }),
      ])
    }
    return (await stage.get(`/api/projects/${project}/fields`, stage.admin.token)).body.main_metric
  }
  const plain = { acc: 1, 'train/loss': 1 }
  expect(await mainOf('rare-name', [plain, plain, plain, { ...plain, val_loss: 1 }])).toBe('train/loss')
  expect(await mainOf('common-name', [plain, { ...plain, val_loss: 1 }])).toBe('val_loss')
  expect(await mainOf('own-name', [{ acc: 1 }, { acc: 1 }, { my_loss: 1 }])).toBe('my_loss')
  expect(await mainOf('no-loss', [{ acc: 1 }, { acc: 1, aaa: 1 }, { acc: 1 }])).toBe('acc')
})

test('an event counts at once in a batch whose fields were stored', async () => {
  const { sql } = stage.app
  const send = (batchId: string, jobId: string, epoch: number, loss: number, at: string) =>
    stage.send(stage.batchOwner, [
      makeEvent('job_epoch', {
        batch_id: batchId,
        job_id: jobId,
        source: { project: 'vision' },
        timestamp: at,
        data: { epoch, val_loss: loss },
      }),
    ])
  const orders = ['sort=last.val_loss&order=asc', 'sort=max.val_loss&order=desc', 'where=last.val_loss%3C0.3']
  const ids = () => Promise.all(orders.map(async (query) => (await list(query)).ids))
  expect(await ids()).toEqual([['two', 'one', 'nan', 'bare'], ['two', 'one', 'nan', 'bare'], ['two']])
  // Those of batches that run are stored after ten minutes of silence.
  await sql`update batch_progress set last_received_at = now() - interval '1 hour'`
  // The server stores them too, so one of both may find the lock taken.
  const left = async (): Promise<number> => {
    await storeFieldsOfBatches({ sql, writer: createWriter(sql), log: { warn: expect.fail } as never })
    return (await sql`select from batch_progress where not fields_known`).length
  }
  await expect.poll(left, { timeout: 20_000 }).toBe(0)
  expect((await ids())[0]).toEqual(['two', 'one', 'nan', 'bare'])
  await send('two', 'job-1', 2, 7, '2026-03-01T11:00:00Z')
  await send('bare', 'job-0', 0, 0.01, '2026-03-01T11:00:00Z')
  expect(await ids()).toEqual([['bare', 'one', 'two', 'nan'], ['two', 'one', 'bare', 'nan'], ['bare']])
})
