import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Person, type Stage } from './stage.ts'

// /mcp (contract §11 "MCP") with the client of the protocol's own SDK.

let stage: Stage
const clients: Client[] = []
beforeAll(async () => {
  stage = await openStage()
  for (const [n, lr] of [0.1, 0.01].entries()) await sendRun(`run-${n}`, lr)
  await stage.send(stage.owner, [
    ...['ok', 'bad'].flatMap((job_id, n) => [
      event('many', 'job_start', { job_id, data: { model: 'cnn', dataset: 'digits', lr: n } }),
      event('many', 'job_epoch', { job_id, data: { epoch: 1, val_loss: 1 + n } }),
    ]),
    event('many', 'job_epoch', { job_id: 'bad', data: { epoch: 2, val_loss: 'NaN' } }),
    event('many', 'job_failed', {
      job_id: 'bad',
      data: { reason: 'CUDA out of memory', traceback: `${'frame\n'.repeat(5_000)}OutOfMemoryError` },
    }),
  ])
})
afterAll(async () => {
  for (const client of clients) await client.close()
  await stage?.stop()
})

const event = (batch_id: string, type: Parameters<typeof makeEvent>[0], fields: object = {}) =>
  makeEvent(type, { batch_id, source: { project: 'vision' }, ...fields })

async function sendRun(batch_id: string, lr: number): Promise<void> {
  const epochs = Array.from({ length: 300 }, (_, epoch) => {
    const val_loss = epoch === 170 ? lr / 100 : lr + Math.abs(epoch - 150) / 1_000
    return event(batch_id, 'job_epoch', { data: { epoch, val_loss, acc: epoch / 300 } })
  })
  await stage.send(stage.owner, [
    event(batch_id, 'batch_start', { data: { n_total: 1, config: { optim: { name: 'sgd' }, lr } } }),
    event(batch_id, 'job_start', { data: { model: 'resnet18', dataset: 'cifar10', lr } }),
    ...epochs,
    ...Array.from({ length: 40 }, (_, n) =>
      event(batch_id, 'log_line', { data: { line: `line ${n}`, level: n % 20 === 0 ? 'error' : 'info' } }),
    ),
    event(batch_id, 'job_done'),
    event(batch_id, 'batch_done'),
  ])
}

async function connect(person: Person): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const headers = { Authorization: `Bearer ${person.read}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', stage.app.address), { requestInit: { headers } }),
  )
  clients.push(client)
  return client
}

/** The answer of a tool, which must not be an error and must be small. */
async function ask(client: Client, name: string, given: object = {}) {
  const { content, isError } = await client.callTool({ name, arguments: given })
  const text = content[0]?.text ?? ''
  expect(isError, text).toBeFalsy()
  expect(text.length).toBeLessThan(16_000)
  return JSON.parse(text)
}
async function refusal(client: Client, name: string, given: object): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: given })
  expect(isError).toBe(true)
  return content[0]?.text ?? ''
}

test('a client connects, and every tool is read-only', async () => {
  const client = await connect(stage.viewer)
  expect(client.getServerVersion()?.name).toBe('svc')
  expect(client.getInstructions()).toContain('list_projects')
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'list_projects',
    'find_runs',
    'get_run',
    'best_run',
    'get_metrics',
    'compare_runs',
    'get_failures',
    'get_logs',
    'sweep_summary',
  ])
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
})

test('questions about a project are answered', async () => {
  const client = await connect(stage.viewer)
  expect(
    (await ask(client, 'list_projects')).projects.map((one: { slug: string }) => one.slug).sort(),
  ).toEqual(['open', 'vision'])
  const found = await ask(client, 'find_runs', {
    project: 'vision',
    where: 'lr<0.05 status:completed',
    columns: ['min.val_loss', 'lr'],
  })
  expect(found).toMatchObject({
    runs: [{ id: 'run-1', status: 'completed', values: { lr: 0.01, 'min.val_loss': 0.0001 } }],
    total: 1,
    next_cursor: null,
  })
  expect((await ask(client, 'find_runs', { where: 'lerning_rate<1' })).unknown_names).toEqual([
    'lerning_rate',
  ])

  const best = await ask(client, 'best_run', { metric: 'val_loss', project: 'vision' })
  expect(best).toMatchObject({
    goal: 'min',
    value: 0.0001,
    step: 170,
    run: { id: 'run-1' },
    job: { job: 'job-1', params: { lr: 0.01 } },
  })
  expect(best.next_best[0]).toMatchObject({ id: 'run-0', value: 0.001 })
  expect(await ask(client, 'best_run', { metric: 'vall_loss' })).toMatchObject({ found: false })
  expect(await ask(client, 'best_run', { metric: 'acc' })).toMatchObject({ goal: 'max', step: 299 })

  const metrics = await ask(client, 'get_metrics', { run: 'run-1', keys: ['val_loss'], points: 20 })
  const [series] = metrics.series
  expect(series).toMatchObject({ key: 'val_loss', points: 300, job: 'job-1' })
  expect(series.shown).toBeLessThanOrEqual(20)
  expect(series.left_out).toBe(`${300 - series.shown} points between those shown`)
  expect(series.values).toContain(0.0001)
  expect(series.steps).toHaveLength(series.shown)

  const compared = await ask(client, 'compare_runs', { runs: ['run-0', 'run-1'] })
  expect(compared.different).toEqual({ lr: [0.1, 0.01] })
  expect(compared.same).toBeGreaterThanOrEqual(3)
  expect(compared.metrics.val_loss).toMatchObject([{ best: 0.001 }, { best: 0.0001 }])

  const failures = await ask(client, 'get_failures', { project: 'vision' })
  expect(failures.failed_jobs).toMatchObject([{ run: 'many', job: 'bad', reason: 'CUDA out of memory' }])
  expect(failures.failed_jobs[0].traceback).toMatch(/OutOfMemoryError$/)
  expect(await ask(client, 'get_failures', { run: 'many' })).toMatchObject({ run: { id: 'many' }, total: 1 })
  expect(await ask(client, 'get_failures')).toMatchObject({ total: 1 })

  const logs = await ask(client, 'get_logs', { run: 'run-0', limit: 3 })
  expect(logs.lines.map((one: string) => one.split(': ')[1])).toEqual(['line 37', 'line 38', 'line 39'])
  const earlier = await ask(client, 'get_logs', { run: 'run-0', limit: 2, cursor: logs.next_cursor })
  expect(earlier.lines.map((one: string) => one.split(': ')[1])).toEqual(['line 35', 'line 36'])
  expect((await ask(client, 'get_logs', { run: 'run-0', level: 'error' })).lines).toHaveLength(2)

  const sweep = await ask(client, 'sweep_summary', { run: 'many', metric: 'val_loss' })
  expect(sweep).toMatchObject({
    jobs: { failed: 1 },
    best_jobs: [
      { job: 'ok', value: 1, last: 1 },
      { job: 'bad', value: 2, last: 'NaN' },
    ],
  })
  expect(await refusal(client, 'sweep_summary', { run: 'many' })).toContain('val_loss')

  const whole = await ask(client, 'get_run', { run: 'run-1' })
  expect(whole).toMatchObject({
    run: { id: 'run-1', config: { optim: { name: 'sgd' } }, events: { state: expect.any(String) } },
    jobs: [{ job: 'job-1', last: { val_loss: 0.159 } }],
  })
})

test('an answer says what it left out, and the cursor continues it', async () => {
  const client = await connect(stage.viewer)
  const seen: string[] = []
  let cursor: string | undefined
  for (let page = 0; page < 9; page++) {
    const answer = await ask(client, 'get_metrics', {
      run: 'run-0',
      points: 100,
      max_tokens: 800,
      ...(cursor !== undefined && { cursor }),
    })
    seen.push(...answer.series.map((one: { key: string }) => one.key))
    if (answer.next_cursor === null) break
    expect(answer.left_out).toContain('cursor')
    cursor = answer.next_cursor
  }
  expect(seen.sort()).toEqual(['acc', 'val_loss'])
  const small = await client.callTool({ name: 'get_failures', arguments: { run: 'many', max_tokens: 300 } })
  expect(small.content[0]?.text.length).toBeLessThan(1_800)
})

test('the rights are those of the token; nothing of a private project is shown to others', async () => {
  const client = await connect(stage.stranger)
  expect((await ask(client, 'list_projects')).projects.map((one: { slug: string }) => one.slug)).toEqual([
    'open',
  ])
  expect(await ask(client, 'find_runs')).toMatchObject({ runs: [], total: 0 })
  for (const [name, given] of [
    ['get_run', { run: 'run-0' }],
    ['get_metrics', { run: 'run-0' }],
    ['get_logs', { run: 'run-0' }],
    ['get_failures', { run: 'run-0' }],
    ['sweep_summary', { run: 'run-0', metric: 'val_loss' }],
    ['compare_runs', { runs: ['run-0', 'run-1'] }],
    ['get_failures', { project: 'vision' }],
  ] as const)
    expect(await refusal(client, name, given)).toMatch(/There is no/)
})

test('wrong input is an answer that says what is wrong', async () => {
  const client = await connect(stage.viewer)
  expect(await refusal(client, 'get_run', {})).toContain('run:')
  expect(await refusal(client, 'get_run', { run: 'run-0', colour: 'red' })).toContain('colour')
  expect(await refusal(client, 'get_metrics', { run: 'x', metrics: ['loss'] })).toMatch(
    /^Unrecognized key: "metrics". It takes run, keys, jobs/,
  )
  expect(await refusal(client, 'find_runs', { where: 'lr <' })).toMatch(/lr|query/i)
  expect(await refusal(client, 'get_metrics', { run: 'run-0', cursor: 'nonsense' })).toContain('next_cursor')
  expect(await refusal(client, 'find_runs', { cursor: 'nonsense' })).toMatch(/cursor/)
  await expect(client.callTool({ name: 'delete_run', arguments: {} })).rejects.toThrow(/no tool/)
})

test('the protocol: only POST, only read tokens, notifications, unknown methods, and broken bodies', async () => {
  const post = (body: unknown, token?: string, origin?: string) =>
    fetch(new URL('/mcp', stage.app.address), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(origin !== undefined && { Origin: origin }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  expect(await (await post(ping, stage.viewer.read)).json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  const anonymous = await post(ping)
  expect(anonymous.status).toBe(401)
  expect(anonymous.headers.get('www-authenticate')).toBe('Bearer')
  expect((await post(ping, stage.viewer.reporter)).status).toBe(403)
  expect((await post(ping, stage.viewer.token)).status).toBe(403)
  expect((await post(ping, stage.viewer.read, 'https://elsewhere.example')).status).toBe(403)
  expect((await post(ping, stage.viewer.read, new URL(stage.app.address).origin)).status).toBe(200)
  const note = { jsonrpc: '2.0', method: 'notifications/initialized' }
  expect((await post(note, stage.viewer.read)).status).toBe(202)
  const unknown = { jsonrpc: '2.0', id: 'a', method: 'resources/list' }
  expect(await (await post(unknown, stage.viewer.read)).json()).toMatchObject({
    id: 'a',
    error: { code: -32_601 },
  })
  for (const [body, code] of [
    ['{', -32_700],
    [[ping], -32_600],
    [{ id: 1 }, -32_600],
  ] as const) {
    const answer = await post(body, stage.viewer.read)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { code } })
  }
  const headers = { Authorization: `Bearer ${stage.viewer.read}` }
  expect((await fetch(new URL('/mcp', stage.app.address), { headers })).status).toBe(405)
})
