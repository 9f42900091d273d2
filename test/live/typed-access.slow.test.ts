import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { SOON } from './stream.ts'

/** Access to typed subscriptions, its end, and one execution for many subscribers with the same query. */
let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, { streamTimes: { retryMs: 20, pingMs: 100 } })
})
afterAll(() => stage?.stop())

const BATCH = `subscription ($id: ID!, $after: String, $share: String) {
  batch(id: $id, after: $after, share: $share) {
    cursor batch { id status host owner { name } } jobs { jobId status failureReason }
  }
}`
const METRICS = `subscription ($id: ID!, $after: String, $share: String) {
  metrics(batchId: $id, after: $after, share: $share) { cursor series { job key steps values } }
}`
const LINES = `subscription ($id: ID!, $after: String, $share: String) {
  logLines(batchId: $id, after: $after, share: $share) { cursor lines { line } }
}`

interface Following {
  /** Data of the results so far. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape of the results; that is its very purpose
  data: any[]
  /** Codes of the errors so far. */
  errors: unknown[]
  /** Settles when the server has ended the stream. */
  ended: Promise<void>
  stop(): void
}

/** Follows with graphql-sse's own client, which does not come back here once the stream has ended. */
function follow(query: string, variables: Record<string, unknown>, token?: string): Following {
  const client = createClient({
    url: `${stage.app.address}/graphql`,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  })
  const data: unknown[] = []
  const errors: unknown[] = []
  let stop = (): void => {}
  const ended = new Promise<void>((resolve) => {
    stop = client.subscribe(
      { query, variables },
      {
        next(result) {
          if (result.data) data.push(result.data)
          for (const error of result.errors ?? []) errors.push(error.extensions?.code)
        },
        error: () => resolve(),
        complete: () => resolve(),
      },
    )
  })
  return { data, errors, ended, stop: () => stop() }
}

let n = 0
/** A batch with one job, and the cursor after its start. */
async function begin(project = 'vision'): Promise<{ id: string; after: string }> {
  const id = `followed-${++n}`
  await stage.send(stage.batchOwner, [
    startOf({ id, project }),
    makeEvent('job_start', { batch_id: id, job_id: 'j', source: { project } }),
  ])
  const { body } = await stage.app.call('POST', '/graphql', {
    token: stage.batchOwner.token,
    body: { query: '{ streamCursor }' },
  })
  return { id, after: body.data.streamCursor }
}
const send = (id: string, type: Parameters<typeof makeEvent>[0], data: object, project = 'vision') =>
  stage.send(stage.batchOwner, [
    makeEvent(type, { batch_id: id, job_id: 'j', source: { project }, data: { ...data } }),
  ])
const epoch = (id: string, at: number, project?: string) =>
  send(id, 'job_epoch', { epoch: at, loss: 1 / at }, project)
async function share(id: string, anonymous = false): Promise<{ id: string; token: string }> {
  const { status, body } = await stage.app.call('POST', `/api/batches/${id}/shares`, {
    token: stage.batchOwner.token,
    body: { anonymous },
  })
  expect(status).toBe(201)
  return body
}
/** @returns once the stream is open: it has told of an epoch that is sent until it does */
async function settle(following: Following, id: string, project?: string): Promise<void> {
  for (let at = 1; following.data.length === 0; at++) {
    await epoch(id, at, project)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('a share link subscribes to its batch without a credential: batch, points and lines', async () => {
  const { id, after } = await begin()
  const { token } = await share(id)
  const [batch, metrics, lines] = [BATCH, METRICS, LINES].map((query) =>
    follow(query, { id, after, share: token }),
  ) as [Following, Following, Following]
  await epoch(id, 1)
  await send(id, 'log_line', { line: 'hello', level: 'info' })
  await send(id, 'job_failed', { reason: 'ValueError', elapsed_s: 1 })
  await expect
    .poll(() => batch.data.at(-1)?.batch, SOON)
    .toMatchObject({
      batch: { id, status: 'RUNNING', owner: { name: stage.batchOwner.name } },
      jobs: [{ jobId: 'j', status: 'FAILED', failureReason: 'ValueError' }],
    })
  await expect.poll(() => metrics.data[0]?.metrics.series, SOON).toHaveLength(1)
  await expect.poll(() => lines.data[0]?.logLines.lines, SOON).toEqual([{ line: 'hello' }])
  for (const one of [batch, metrics, lines]) one.stop()
})

test('an anonymous link shows no people, no hosts and no lines', async () => {
  const { id, after } = await begin()
  const { token } = await share(id, true)
  const batch = follow(BATCH, { id, after, share: token })
  const lines = follow(LINES, { id, after, share: token })
  await epoch(id, 1)
  await expect
    .poll(() => batch.data[0]?.batch.batch, SOON)
    .toEqual({ id, status: 'RUNNING', host: null, owner: null })
  await expect.poll(() => lines.errors, SOON).toEqual(['channel_forbidden'])
  batch.stop()
})

test('a link opens no other batch, and an invalid link is refused', async () => {
  const [{ id }, other] = [await begin(), await begin()]
  const { token } = await share(other.id)
  const refused = [
    follow(BATCH, { id, share: token }),
    follow(METRICS, { id, share: token }, stage.stranger.token),
    follow(METRICS, { id, share: 'nothing' }),
    follow(METRICS, { id }),
  ]
  await Promise.all(refused.map(({ ended }) => ended))
  expect(refused.map(({ errors }) => errors)).toEqual(refused.map(() => ['channel_forbidden']))
  expect(refused.flatMap(({ data }) => data)).toEqual([])
})

test('a revoked link and an ended membership end their streams; others continue', async () => {
  const slug = 'ending'
  const { token: owner } = stage.owner
  await stage.app.call('POST', '/api/projects', { token: owner, body: { slug } })
  for (const person of [stage.member, stage.batchOwner])
    await stage.app.letIn(slug, stage.owner, person, 'member')
  const { id, after } = await begin(slug)
  const link = await share(id)
  const shared = follow(METRICS, { id, after, share: link.token })
  const member = follow(BATCH, { id, after }, stage.member.token)
  const project = follow(
    'subscription ($slug: String!, $after: String) { project(slug: $slug, after: $after) { cursor batches { id } } }',
    { slug, after },
    stage.member.token,
  )
  const stays = follow(METRICS, { id, after }, stage.batchOwner.token)
  for (const one of [shared, member, project, stays]) await settle(one, id, slug)
  await stage.app.call('DELETE', `/api/shares/${link.id}`, { token: stage.batchOwner.token })
  await stage.app.call('DELETE', `/api/projects/${slug}/members/${stage.member.id}`, { token: owner })
  await Promise.all([shared.ended, member.ended, project.ended])
  await epoch(id, 1_000, slug)
  // Epochs that were sent before may still arrive first.
  await expect.poll(() => stays.data.at(-1)?.metrics.series[0].steps, SOON).toContain(1_000)
  stays.stop()
})

const executions = async (): Promise<number> => {
  const { body } = await stage.get('/metrics')
  return Number(/^svc_sse_executions_total (\d+)$/m.exec(body)?.[1])
}

test('a change is executed once for all subscriptions with the same document and credential', async () => {
  const { id, after } = await begin('open')
  // Anonymous readers of a public project, and two whose results may differ from theirs.
  const alike = Array.from({ length: 20 }, () => follow(BATCH, { id, after }))
  const others = [
    follow(BATCH, { id, after }, stage.batchOwner.token),
    follow(BATCH.replace('cursor ', ''), { id, after }),
  ]
  const all = [...alike, ...others]
  for (const one of all) await settle(one, id, 'open')
  const cursors = (): Set<string> =>
    new Set(alike.flatMap(({ data }) => data.map(({ batch }) => batch.cursor)))
  /** @returns the executions so far, once every follower has all of their results */
  const steady = async (): Promise<number> => {
    let seen = ''
    for (;;) {
      const last = new Set(alike.map(({ data }) => data.at(-1)?.batch.cursor))
      const now = all.map(({ data }) => data.length).join()
      if (now === seen && last.size === 1) return executions()
      seen = now
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
  }
  const before = await steady()
  const known = cursors()
  await send(id, 'job_done', {}, 'open')
  for (const one of all)
    await expect.poll(() => one.data.at(-1).batch.jobs[0]?.status, SOON).toBe('COMPLETED')
  const executed = await steady()
  const changes = [...cursors()].filter((cursor) => !known.has(cursor)).length
  // Once for each of the three kinds of follower.
  expect(executed - before).toBe(3 * changes)
  expect(alike[0]?.data.at(-1)).toEqual(alike[19]?.data.at(-1))
  expect(others[0]?.data.at(-1).batch.batch.owner).toEqual({ name: stage.batchOwner.name })
  for (const one of all) one.stop()
})
