import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Person, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'

let stage: Stage
let skipMs = 0
beforeAll(async () => {
  stage = await openStage(
    { stallTimeoutMin: 1, lostAfterMin: 2 },
    { now: () => new Date(Date.now() + skipMs) },
  )
})
afterAll(() => stage?.stop())

const definition = (more: object = {}) => ({
  name: 'Widths',
  method: 'grid',
  metric: { name: 'val_loss', goal: 'minimize' },
  parameters: { lr: { values: [0.1, 0.01] }, width: { min: 1, max: 3 }, seed: { value: 7 } },
  ...more,
})
const call = (
  token: string | undefined,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
) => stage.app.call(method, path, { ...(token && { token }), ...(body && { body }) })
const create = async (more: object = {}, by: Person = stage.batchOwner, project = 'vision') => {
  const made = await call(by.reporter, 'POST', `/api/projects/${project}/sweeps`, definition(more))
  if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`)
  return made.body as { id: string; batch_id: string; state: string }
}
const ask = (id: string, more: object = {}, by: Person = stage.batchOwner) =>
  call(by.reporter, 'POST', `/api/sweeps/${id}/trials`, { worker: 'w', ...more })
const read = async (id: string) => (await call(stage.batchOwner.reporter, 'GET', `/api/sweeps/${id}`)).body
const trials = async (id: string, query = '?limit=500') =>
  (await call(stage.batchOwner.reporter, 'GET', `/api/sweeps/${id}/trials${query}`)).body.items
const change = (id: string, body: object, token = stage.batchOwner.token) =>
  call(token, 'PATCH', `/api/sweeps/${id}`, body)
const timestamp = () => new Date(Date.now() + skipMs).toISOString()
const event = (type: Parameters<typeof makeEvent>[0], batchId: string, jobId: string, data: object) =>
  makeEvent(type, {
    batch_id: batchId,
    job_id: jobId,
    source: { project: 'vision' },
    timestamp: timestamp(),
    data,
  } as never)
const finish = (batchId: string, jobId: string, loss: number, more: object = {}) =>
  stage.send(stage.batchOwner, [
    event('job_epoch', batchId, jobId, { epoch: 0, val_loss: loss + 1 }),
    event('job_epoch', batchId, jobId, { epoch: 1, val_loss: loss }),
    event('job_done', batchId, jobId, { elapsed_s: 1, ...more }),
  ])
const fail = (batchId: string, jobId: string, reason = 'out of memory') =>
  stage.send(stage.batchOwner, [event('job_failed', batchId, jobId, { reason, elapsed_s: 1 })])

describe('a grid', () => {
  test('is complete exactly once, in order, and its batch ends with its last trial', async () => {
    const { id, batch_id: batchId, state } = await create()
    expect(state).toBe('running')
    const handed = []
    for (let n = 0; n < 6; n++) {
      const { status, body } = await ask(id)
      expect(status).toBe(201)
      expect(Object.keys(body).sort()).toEqual(['job_id', 'number', 'params'])
      handed.push(body)
    }
    expect(handed.map(({ number, params }) => [number, params.lr, params.width, params.seed])).toEqual([
      [0, 0.1, 1, 7],
      [1, 0.1, 2, 7],
      [2, 0.1, 3, 7],
      [3, 0.01, 1, 7],
      [4, 0.01, 2, 7],
      [5, 0.01, 3, 7],
    ])
    expect((await ask(id)).status).toBe(204)
    expect((await read(id)).state).toBe('running')
    await Promise.all(
      handed.map(({ job_id: job, number }, i) =>
        i === 4 ? fail(batchId, job) : finish(batchId, job, number),
      ),
    )
    expect((await ask(id)).status).toBe(204)
    const sweep = await read(id)
    expect(sweep).toMatchObject({
      state: 'finished',
      n_total: 6,
      trials: { running: 0, completed: 5, failed: 1, pruned: 0, stopped: 0, lost: 0, queued: 0 },
      best: { number: 0, value: 0, params: { lr: 0.1, width: 1, seed: 7 } },
    })
    const batch = (await stage.get(`/api/batches/${batchId}`, stage.viewer.token)).body
    expect(batch).toMatchObject({
      status: 'completed',
      n_done: 5,
      n_failed: 1,
      n_total: 6,
      sweep_id: id,
      name: 'Widths',
    })
    const jobs = (await stage.get(`/api/batches/${batchId}/jobs`, stage.viewer.token)).body.items
    expect(jobs).toHaveLength(6)
    expect(jobs.find((job: { id: string }) => job.id === 'trial-3').params).toEqual({
      lr: 0.01,
      width: 1,
      seed: 7,
    })
  })

  test('runs its ends through the watch as well, when no worker asks again', async () => {
    const { id, batch_id: batchId } = await create({ parameters: { lr: { value: 1 } } })
    await finish(batchId, (await ask(id)).body.job_id, 1)
    await stage.app.runTask('watch')
    expect((await read(id)).state).toBe('finished')
    expect((await stage.get(`/api/batches/${batchId}`, stage.batchOwner.token)).body.status).toBe('completed')
  })

  test('counts trials that end in the second in which they were handed out, by clocks with whole seconds', async () => {
    const { id, batch_id: batchId } = await create({ parameters: { seed: { values: [1, 2] } } })
    for (const loss of [2, 1]) {
      const { job_id: job } = (await ask(id)).body
      const wholeSecond = { timestamp: `${timestamp().slice(0, 19)}Z` }
      await stage.send(stage.batchOwner, [
        { ...event('job_epoch', batchId, job, { epoch: 0, val_loss: loss }), ...wholeSecond },
        { ...event('job_done', batchId, job, { elapsed_s: 1 }), ...wholeSecond },
      ])
    }
    expect((await trials(id)).map(({ state }: { state: string }) => state)).toEqual([
      'completed',
      'completed',
    ])
    expect((await read(id)).best).toMatchObject({ number: 1, value: 1 })
  })

  test('can be cut by max_trials, and extended when it is finished', async () => {
    const { id, batch_id: batchId } = await create({ max_trials: 1 })
    await finish(batchId, (await ask(id)).body.job_id, 1)
    expect((await ask(id)).status).toBe(204)
    expect((await change(id, { state: 'running' })).body.code).toBe('sweep_finished')
    const extended = await change(id, { max_trials: 2 })
    expect(extended.body).toMatchObject({ state: 'running', n_total: 2 })
    expect((await stage.get(`/api/batches/${batchId}`, stage.batchOwner.token)).body).toMatchObject({
      status: 'running',
      n_total: 2,
    })
    expect((await ask(id)).body).toMatchObject({ number: 1, params: { lr: 0.1, width: 2 } })
    expect((await ask(id)).status).toBe(204)
  })
})

describe('a trial', () => {
  test('is handed out once to many that ask at the same time', async () => {
    const { id } = await create({ parameters: { n: { min: 0, max: 39 } } })
    const answers = await Promise.all(Array.from({ length: 48 }, (_, i) => ask(id, { worker: `w${i}` })))
    const numbers = answers.flatMap(({ status, body }) => (status === 201 ? [body.number] : []))
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i))
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(8)
  })

  test('is returned again to a repeated request', async () => {
    const { id } = await create()
    const first = await ask(id, { ask_id: 'one' })
    expect((await ask(id, { ask_id: 'one' })).body).toEqual(first.body)
    expect((await ask(id, { ask_id: 'two' })).body.number).toBe(1)
  })

  test('is handed out again once its worker was silent for too long, and before new ones', async () => {
    const { id, batch_id: batchId } = await create({ parameters: { n: { min: 0, max: 2 } } })
    const [first, second] = [(await ask(id, { worker: 'a' })).body, (await ask(id, { worker: 'b' })).body]
    try {
      skipMs += 90_000
      await stage.send(stage.batchOwner, [
        event('job_epoch', batchId, second.job_id, { epoch: 0, val_loss: 1 }),
      ])
      skipMs += 90_000
      expect(await trials(id)).toMatchObject([{ state: 'running' }, { state: 'lost', worker: 'a' }])
      expect((await ask(id, { worker: 'c' })).body).toEqual(first)
      expect(await trials(id)).toMatchObject([
        { number: 1, state: 'running' },
        { number: 0, state: 'running', worker: 'c', handed_out: 2 },
      ])
      expect((await ask(id)).body.number).toBe(2)
      expect((await ask(id)).status).toBe(204)
    } finally {
      skipMs = 0
    }
  })

  test('with a lease is lost without renewals, and given back at once when its worker dies', async () => {
    const { id, batch_id: batchId } = await create({ parameters: { n: { min: 0, max: 2 } } })
    const lease = (number: number, askId: string, release = false) =>
      call(stage.batchOwner.reporter, 'POST', `/api/sweeps/${id}/trials/${number}/lease`, {
        ask_id: askId,
        release,
      })
    const take = async (askId: string) => (await ask(id, { ask_id: askId, lease_s: 60 })).body
    try {
      expect((await ask(id, { lease_s: 60 })).status).toBe(422)
      const [first, second] = [await take('a'), await take('b')]
      skipMs += 50_000
      expect((await lease(0, 'a')).body).toEqual({ state: 'running' })
      skipMs += 50_000
      // The event of a job renews too.
      expect(await trials(id)).toMatchObject([{ state: 'lost' }, { state: 'running' }])
      await stage.send(stage.batchOwner, [event('job_epoch', batchId, second.job_id, { epoch: 0 })])
      expect(await trials(id)).toMatchObject([{ state: 'running' }, { state: 'running' }])
      expect((await lease(1, 'b', true)).body).toEqual({ state: 'lost' })
      expect((await lease(1, 'a')).body.code).toBe('trial_taken')
      expect((await lease(7, 'a')).body.code).toBe('trial_not_found')
      expect((await ask(id, { ask_id: 'c' })).body).toEqual(second)
      expect((await lease(1, 'b', true)).body.code).toBe('trial_taken')
      // The end of its first worker is no end of the second one's.
      await fail(batchId, first.job_id)
      expect((await lease(0, 'a', true)).body).toEqual({ state: 'failed' })
      expect((await ask(id)).body.number).toBe(2)
    } finally {
      skipMs = 0
    }
  })

  test('that ten workers lost is failed, but evictions of workers do not count', async () => {
    const { id } = await create({ parameters: { n: { value: 1 } } })
    for (let n = 0; n < 13; n++) {
      expect((await ask(id, { ask_id: `a${n}`, lease_s: 10 })).status).toBe(201)
      const released = { ask_id: `a${n}`, release: true, evicted: n % 5 === 0 }
      await call(stage.batchOwner.reporter, 'POST', `/api/sweeps/${id}/trials/0/lease`, released)
    }
    expect((await ask(id)).status).toBe(204)
    expect(await trials(id)).toMatchObject([{ state: 'failed', handed_out: 13 }])
    expect((await ask(id)).status).toBe(204)
    expect((await read(id)).state).toBe('finished')
  })

  test('has its value from the final metrics, else from its best step, and pruned ones are not the best', async () => {
    const { id, batch_id: batchId } = await create({ metric: { name: 'val_loss', goal: 'maximize' } })
    const jobs = [await ask(id), await ask(id), await ask(id)].map(({ body }) => body.job_id)
    await finish(batchId, jobs[0], 3)
    await finish(batchId, jobs[1], 4, { metrics: { val_loss: 5 } })
    await finish(batchId, jobs[2], 9, { pruned: true })
    expect(await trials(id)).toMatchObject([
      { number: 2, state: 'pruned', value: 10 },
      { number: 1, state: 'completed', value: 5 },
      { number: 0, state: 'completed', value: 4 },
    ])
    expect((await read(id)).best).toMatchObject({ number: 1, value: 5 })
    const [newest] = await trials(id, '?limit=1&intermediate=true')
    expect(newest.intermediate).toEqual([
      [0, 10],
      [1, 9],
    ])
    await ask(id)
    const changed = Math.max(...(await trials(id)).map((trial: { changed: number }) => trial.changed))
    expect(await trials(id, `?changed_after=${changed}`)).toMatchObject([{ number: 3, state: 'running' }])
    const page = (await call(stage.batchOwner.reporter, 'GET', `/api/sweeps/${id}/trials?limit=3`)).body
    expect(
      (await trials(id, `?limit=3&cursor=${page.next_cursor}`)).map((t: { number: number }) => t.number),
    ).toEqual([0])
  })
})

describe('parameters', () => {
  test('of method random are drawn by the service, from the space', async () => {
    const parameters = {
      lr: { min: 1e-5, max: 0.1, distribution: 'log_uniform_values' },
      layers: { min: 1, max: 4 },
      dropout: { min: 0, max: 0.5, q: 0.1 },
      optimizer: { values: ['adam', 'sgd'] },
    }
    const { id } = await create({ method: 'random', parameters, max_trials: 20 })
    const drawn = []
    for (let i = 0; i < 20; i++) drawn.push((await ask(id)).body.params)
    expect((await ask(id)).status).toBe(204)
    expect(new Set(drawn.map((p) => p.lr)).size).toBe(20)
    for (const p of drawn) {
      expect(p.lr).toBeGreaterThanOrEqual(1e-5)
      expect(p.lr).toBeLessThanOrEqual(0.1)
      expect([1, 2, 3, 4]).toContain(p.layers)
      expect([0, 0.1, 0.2, 0.3, 0.4, 0.5]).toContain(p.dropout)
      expect(['adam', 'sgd']).toContain(p.optimizer)
    }
    expect(drawn.filter((p) => p.lr < 1e-3).length).toBeGreaterThan(2)
  })

  test('of other methods are proposed by workers, and checked', async () => {
    const { id } = await create({ method: 'tpe', max_trials: 2 })
    expect((await ask(id)).body.code).toBe('params_required')
    expect((await ask(id, { params: { lr: 0.1, width: 2, seed: 7 } })).body).toMatchObject({
      number: 0,
      params: { lr: 0.1, width: 2, seed: 7 },
    })
    for (const [params, path] of [
      [{ lr: 0.1, width: 2 }, 'params.seed'],
      [{ lr: 0.2, width: 2, seed: 7 }, 'params.lr'],
      [{ lr: 0.1, width: 2.5, seed: 7 }, 'params.width'],
      [{ lr: 0.1, width: 4, seed: 7 }, 'params.width'],
      [{ lr: 0.1, width: 2, seed: 7, extra: 1 }, 'params.extra'],
    ] as const) {
      const refused = await ask(id, { params })
      expect([refused.status, refused.body.errors?.[0].path]).toEqual([422, path])
    }
    const grid = await create()
    expect((await ask(grid.id, { params: { lr: 0.1, width: 2, seed: 7 } })).status).toBe(422)
  })

  test.each([
    ['an empty space', { parameters: {} }, 'parameters'],
    ['a continuum in a grid', { parameters: { lr: { min: 0, max: 0.5 } } }, 'parameters.lr'],
    ['min above max', { method: 'random', parameters: { lr: { min: 2, max: 1 } } }, 'parameters.lr'],
    [
      'a logarithm of 0',
      { method: 'random', parameters: { lr: { min: 0, max: 1, distribution: 'log_uniform' } } },
      'parameters.lr',
    ],
    ['a value twice', { parameters: { lr: { values: [1, 1] } } }, 'parameters.lr'],
    ['a model that is a number', { parameters: { model: { values: [1] } } }, 'parameters.model'],
    [
      'too many combinations',
      { parameters: { a: { min: 1, max: 2000 }, b: { min: 1, max: 2000 } } },
      'parameters',
    ],
    ['an unknown form', { parameters: { lr: { mu: 1 } } }, 'parameters.lr'],
    ['no form', { parameters: { lr: {} } }, 'parameters.lr'],
    ['an unknown method', { method: 'magic' }, 'method'],
    ['no metric', { metric: undefined }, 'metric'],
    ['no trials', { max_trials: 0 }, 'max_trials'],
    ['a NUL', { parameters: { a: { values: ['\u0000'] } } }, 'parameters'],
  ])('of %s are refused', async (_, more, path) => {
    const refused = await call(
      stage.batchOwner.reporter,
      'POST',
      '/api/projects/vision/sweeps',
      definition(more),
    )
    expect([refused.status, refused.body.code, refused.body.errors?.[0].path]).toEqual([
      422,
      'invalid_body',
      path,
    ])
  })

  test('may be nested and depend on others: each combination that differs comes once', async () => {
    const parameters = {
      opt: { values: ['adam', 'sgd', 'none'] },
      sgd: {
        parameters: { momentum: { values: [0, 0.9] }, nesterov: { value: true } },
        when: { opt: 'sgd' },
      },
      'adam.beta': { values: [1, 2], when: { opt: ['adam', 'none'] } },
      late: { value: 5, when: { 'sgd.momentum': 0.9 } },
    }
    const { body } = await call(stage.batchOwner.token, 'POST', '/api/projects/vision/sweeps/preview', {
      method: 'grid',
      parameters,
    })
    expect(body.n_total).toBe(6)
    expect(body.trials).toEqual([
      { opt: 'adam', 'adam.beta': 1 },
      { opt: 'adam', 'adam.beta': 2 },
      { opt: 'sgd', 'sgd.momentum': 0, 'sgd.nesterov': true },
      { opt: 'sgd', 'sgd.momentum': 0.9, 'sgd.nesterov': true, late: 5 },
      { opt: 'none', 'adam.beta': 1 },
      { opt: 'none', 'adam.beta': 2 },
    ])
    const { id } = await create({ method: 'tpe', parameters })
    expect((await read(id)).parameters['sgd.momentum']).toEqual({ values: [0, 0.9], when: { opt: ['sgd'] } })
    expect((await ask(id, { params: { opt: 'adam', 'adam.beta': 1 } })).status).toBe(201)
    for (const [params, path] of [
      [{ opt: 'adam', 'adam.beta': 1, late: 5 }, 'params.late'],
      [{ opt: 'sgd', 'sgd.momentum': 0 }, 'params.sgd.nesterov'],
    ] as const)
      expect((await ask(id, { params })).body.errors?.[0].path).toBe(path)
    const random = await create({ method: 'random', parameters, max_trials: 30 })
    for (let n = 0; n < 12; n++) {
      const drawn = (await ask(random.id)).body.params
      expect('adam.beta' in drawn).toBe(drawn.opt !== 'sgd')
      expect('late' in drawn).toBe(drawn['sgd.momentum'] === 0.9)
    }
    for (const when of [{ lr: 1 }, { opt: 'lion' }, { x: 1 }, { y: 1 }])
      expect(
        (
          await call(stage.batchOwner.token, 'POST', '/api/projects/vision/sweeps/preview', {
            method: 'random',
            parameters: {
              opt: { values: ['adam'] },
              lr: { min: 0, max: 0.5 },
              x: { value: 1, when },
              y: { value: 1, when: { x: 1 } },
            },
          })
        ).body.errors[0].path,
      ).toBe('parameters.x')
  })

  test('are previewed without a trace', async () => {
    const { body } = await call(stage.batchOwner.token, 'POST', '/api/projects/vision/sweeps/preview', {
      method: 'grid',
      parameters: definition().parameters,
    })
    expect(body).toMatchObject({ n_total: 6, combinations: 6 })
    expect(body.trials).toHaveLength(6)
    expect(body.trials[5]).toEqual({ lr: 0.01, width: 3, seed: 7 })
  })
})

describe('a sweep', () => {
  test('is paused, resumed and stopped by people; the timeline and the audit log name them', async () => {
    const { id, batch_id: batchId } = await create({
      method: 'random',
      parameters: { lr: { min: 0, max: 0.5 } },
    })
    const { body: trial } = await ask(id)
    expect((await change(id, { state: 'paused' })).body.state).toBe('paused')
    expect((await ask(id)).body).toMatchObject({ status: 409, code: 'sweep_paused' })
    expect((await change(id, { max_trials: 9 })).body).toMatchObject({ state: 'paused', max_trials: 9 })
    expect((await change(id, { state: 'running' })).body.state).toBe('running')
    expect((await change(id, { state: 'stopped' })).body.state).toBe('stopped')
    expect((await ask(id)).status).toBe(204)
    await finish(batchId, trial.job_id, 1)
    await stage.app.runTask('watch')
    const batch = () => stage.get(`/api/batches/${batchId}`, stage.batchOwner.token)
    expect((await batch()).body).toMatchObject({ status: 'stopped', failure_reason: 'stop_requested' })
    expect((await change(id, { state: 'paused' })).body.code).toBe('sweep_finished')
    expect((await change(id, { state: 'running' })).body.state).toBe('running')
    expect((await batch()).body.status).toBe('running')
    expect((await ask(id)).body.number).toBe(1)
    const steps = (await stage.get(`/api/batches/${batchId}/timeline`, stage.batchOwner.token)).body.items
    expect(
      steps.flatMap((s: { kind: string; step: string }) => (s.kind === 'sweep' ? [s.step] : [])),
    ).toEqual([
      'sweep_created',
      'sweep_paused',
      'sweep_extended',
      'sweep_resumed',
      'sweep_stopped',
      'sweep_resumed',
    ])
    const log = (await stage.get(`/api/admin/audit?action=sweep.&limit=3`, stage.admin.token)).body.items
    expect(log[0]).toMatchObject({
      action: 'sweep.resumed',
      subject: `batch:${batchId}`,
      actor: { id: stage.batchOwner.id },
    })
  })

  test('is edited: the new space counts from then on, and a grid starts again with it', async () => {
    const { id, batch_id: batchId } = await create()
    const first = (await ask(id)).body
    const space = { lr: { values: [5, 6] } }
    const { body } = await change(id, { parameters: space })
    expect(body).toMatchObject({
      parameters: space,
      n_total: 3,
      edits: [{ from_number: 1, parameters: definition().parameters, by: { id: stage.batchOwner.id } }],
    })
    expect((await change(id, { parameters: space })).body.edits).toHaveLength(1)
    expect((await change(id, { parameters: { lr: { min: 0, max: 0.5 } } })).status).toBe(422)
    const rest = [(await ask(id)).body, (await ask(id)).body]
    expect(rest.map(({ number, params }) => [number, params])).toEqual([
      [1, { lr: 5 }],
      [2, { lr: 6 }],
    ])
    expect((await ask(id)).status).toBe(204)
    for (const { job_id: job } of [first, ...rest]) await finish(batchId, job, 1)
    expect((await ask(id)).status).toBe(204)
    expect(await read(id)).toMatchObject({ state: 'finished', trials: { completed: 3 } })
    expect((await change(id, { parameters: { lr: { values: [7] } } })).body).toMatchObject({
      state: 'running',
      n_total: 4,
    })
    expect((await ask(id)).body.params).toEqual({ lr: 7 })
  })

  test('runs failed trials once more, and the parameters of a trial with other seeds', async () => {
    const { id, batch_id: batchId } = await create({ parameters: { lr: { values: [1, 2] } } })
    const queue = (body: object, token = stage.batchOwner.token) =>
      call(token, 'POST', `/api/sweeps/${id}/queue`, body)
    const [first, second] = [(await ask(id)).body, (await ask(id)).body]
    expect((await queue({ failed: true })).body.code).toBe('nothing_to_queue')
    await fail(batchId, first.job_id)
    await finish(batchId, second.job_id, 3)
    expect((await ask(id)).status).toBe(204)
    expect((await read(id)).state).toBe('finished')
    expect((await queue({ failed: true })).body).toEqual({ numbers: [0] })
    expect(await read(id)).toMatchObject({ state: 'running', n_total: 2, trials: { queued: 1, failed: 0 } })
    expect((await stage.get(`/api/batches/${batchId}`, stage.batchOwner.token)).body.status).toBe('running')
    expect((await queue({ trial: 1, seeds: [7, 8] })).body).toEqual({ numbers: [2, 3] })
    expect((await queue({ trial: 9, seeds: [7] })).body.code).toBe('trial_not_found')
    expect((await queue({ trial: 1, seeds: [] })).status).toBe(422)
    expect((await read(id)).n_total).toBe(4)
    expect((await ask(id)).body).toEqual(first)
    expect(await trials(id)).toMatchObject([
      { state: 'queued', worker: null, handed_out: 0 },
      { state: 'queued' },
      { state: 'completed' },
      { state: 'running', worker: 'w', handed_out: 2 },
    ])
    const seeds = [(await ask(id)).body, (await ask(id)).body]
    expect(seeds.map(({ number, params }) => [number, params])).toEqual([
      [2, { lr: 2, seed: 7 }],
      [3, { lr: 2, seed: 8 }],
    ])
    for (const { job_id: job } of [first, ...seeds]) await finish(batchId, job, 2)
    expect((await ask(id)).status).toBe(204)
    expect(await read(id)).toMatchObject({ state: 'finished', trials: { completed: 4, queued: 0 } })
    const steps = (await stage.get(`/api/batches/${batchId}/timeline`, stage.batchOwner.token)).body.items
    expect(
      steps
        .filter((s: { step: string }) => s.step === 'sweep_queued')
        .map((s: { detail: object }) => s.detail),
    ).toEqual([{ failed: 1 }, { trial: 1, seeds: 2 }])
  })

  test('may be changed by the owner of the batch with a token too, by owners of the project, and by no one else', async () => {
    const { id } = await create()
    const state = (token: string) => change(id, { state: 'paused' }, token)
    expect((await state(stage.batchOwner.reporter)).status).toBe(200)
    expect((await state(stage.owner.token)).status).toBe(200)
    expect((await state(stage.admin.token)).status).toBe(200)
    expect((await state(stage.owner.reporter)).status).toBe(403)
    expect((await state(stage.member.token)).status).toBe(403)
    expect((await state(stage.viewer.token)).status).toBe(403)
    expect((await state(stage.batchOwner.read)).status).toBe(403)
    expect((await state(stage.stranger.token)).status).toBe(404)
    expect((await change(id, {})).status).toBe(422)
    expect((await change(id, { state: 'finished' })).status).toBe(422)
  })

  test('creates its project, as a first run does, but none that another person has', async () => {
    const body = definition()
    const path = (slug: string) => `/api/projects/${slug}/sweeps`
    const made = await call(stage.stranger.reporter, 'POST', path('first-sweep'), body)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { role } = (await call(stage.stranger.token, 'GET', '/api/projects/first-sweep')).body
    expect(role).toBe('owner')
    expect((await call(stage.stranger.reporter, 'POST', path('vision'), body)).body.code).toBe(
      'project_not_found',
    )
    expect((await call(stage.stranger.reporter, 'POST', path('not%20a%20slug'), body)).status).toBe(422)
  })

  test('hands out nothing once its batch was stopped, and no caller finds it once it was deleted', async () => {
    const { id, batch_id: batchId } = await create()
    const { body: trial } = await ask(id)
    await call(stage.batchOwner.token, 'POST', `/api/batches/${batchId}/stop`)
    expect((await read(id)).state).toBe('stopped')
    expect((await ask(id)).status).toBe(204)
    await fail(batchId, trial.job_id, 'stop_requested')
    expect(await trials(id)).toMatchObject([{ state: 'stopped' }])
    await call(stage.batchOwner.token, 'DELETE', `/api/batches/${batchId}`)
    expect((await ask(id)).body.code).toBe('sweep_not_found')
    expect((await call(stage.batchOwner.reporter, 'GET', `/api/sweeps/${id}`)).status).toBe(404)
    await call(stage.batchOwner.token, 'POST', `/api/batches/${batchId}/restore`)
    expect((await read(id)).state).toBe('stopped')
  })

  test('shows visitors of a public project no names', async () => {
    const { id } = await create({ command: 'python train.py' }, stage.batchOwner, 'open')
    await ask(id)
    const seen = await call(undefined, 'GET', `/api/sweeps/${id}`)
    expect(seen.body).toMatchObject({ command: null, created_by: null, can: { ask: false, change: false } })
    const list = await call(undefined, 'GET', `/api/sweeps/${id}/trials`)
    expect(list.body.items).toMatchObject([{ number: 0, worker: null }])
  })
})
