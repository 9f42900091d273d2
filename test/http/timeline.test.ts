import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const source = { project: 'vision', host: 'box7' }
const BATCH = 'a-life'
interface Step {
  at: string
  step: string
  kind: string
  actor: { kind: string; name: string | null }
  detail: Record<string, unknown>
}
const timeline = async (token = stage.batchOwner.token): Promise<Step[]> =>
  (await stage.get(`/api/batches/${BATCH}/timeline`, token)).body.items

test('the timeline has start and end, and what users did and who they are, in order of time', async () => {
  const call = (method: string, path: string, body?: unknown) =>
    stage.app.call(method, path, { token: stage.batchOwner.token, body })
  const minuteAgo = new Date(Date.now() - 60_000).toISOString()
  await stage.send(stage.batchOwner, [
    makeEvent('batch_start', {
      batch_id: BATCH,
      source,
      timestamp: minuteAgo,
      data: { experiment_type: 'sweep', n_total: 2 },
    }),
  ])
  expect((await call('PATCH', `/api/batches/${BATCH}`, { notes: 'a secret', tags: ['night'] })).status).toBe(
    200,
  )
  const share = await call('POST', `/api/batches/${BATCH}/shares`, { anonymous: true })
  expect(share.status).toBe(201)
  expect((await call('DELETE', `/api/shares/${share.body.id}`)).status).toBe(204)
  expect((await call('DELETE', `/api/batches/${BATCH}`)).status).toBe(204)
  expect((await call('POST', `/api/batches/${BATCH}/restore`)).status).toBe(200)
  await stage.send(stage.batchOwner, [
    makeEvent('batch_done', { batch_id: BATCH, source, timestamp: new Date().toISOString() }),
  ])
  const steps = await timeline(stage.viewer.token)
  expect(steps.map(({ step, kind, actor }) => [step, kind, actor.kind, actor.name])).toEqual([
    ['began', 'batch', 'reporter', 'batch-owner'],
    ['edited', 'batch', 'user', 'batch-owner'],
    ['shared', 'share', 'user', 'batch-owner'],
    ['share_revoked', 'share', 'user', 'batch-owner'],
    ['deleted', 'batch', 'user', 'batch-owner'],
    ['restored', 'batch', 'user', 'batch-owner'],
    ['ended', 'batch', 'reporter', 'batch-owner'],
  ])
  expect(steps[0]?.detail).toEqual({ host: 'box7', n_total: 2 })
  expect(steps[1]?.detail).toEqual({ fields: ['notes', 'tags'], tags: ['night'] })
  expect(steps[2]?.detail).toMatchObject({ anonymous: true })
  expect(JSON.stringify(steps)).not.toMatch(/secret/)
})

test('the timeline has the mails of rules, with the number of recipients and without addresses', async () => {
  const { sql } = stage.app
  const [batch] = await sql`select key, project_key from batches where id = ${BATCH}`
  const [rule] = await sql`
    insert into notification_rules (project_key, name, trigger, created_at)
    values (${batch?.project_key}, 'ends', 'batch_done', now()) returning id`
  const [firing] = await sql`
    insert into notification_firings (rule_id, event_key, trigger, batch_key, happened_at, fired_at, outcome)
    values (${rule?.id}, 'one', 'batch_done', ${batch?.key}, now(), now(), 'mail') returning id`
  await sql`
    insert into notification_mails (firing_id, address_key, state, at)
    select ${firing?.id}, address, 'sent', now() from unnest(array['a@example.org', 'b@example.org']) as t (address)`
  const last = (await timeline()).at(-1)
  expect(last).toMatchObject({
    step: 'mail_sent',
    kind: 'mail',
    actor: { kind: 'service' },
    detail: { rule: 'ends', trigger: 'batch_done', recipients: 2 },
  })
  expect(JSON.stringify(last)).not.toMatch(/example/)
})

test('GraphQL has the same timeline, and none for a visitor', async () => {
  const query = `{ batch(id: "${BATCH}") { timeline { step actor { name } detail } agent { online } health { liveness } } }`
  const ask = (token?: string) =>
    stage.app.call('POST', '/graphql', { ...(token !== undefined && { token }), body: { query } })
  const { body } = await ask(stage.viewer.token)
  expect(body.data.batch).toMatchObject({ agent: null, health: { liveness: null } })
  expect(body.data.batch.timeline.map((one: Step) => one.step)).toEqual(
    (await timeline()).map((one) => one.step),
  )
  expect((await ask()).body.data.batch).toBeNull()
})
