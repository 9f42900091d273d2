import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSweeper } from '../../src/workers/sweeper.ts'
import { registerAgent } from '../agents/agent.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { ANY_MAIL, type Mailbox, mailSent, openMailbox, Refusal, subjects } from './mailbox.ts'

// Firings are deleted after their retention, and no mail is sent twice (contract §7).

const clock = createClock()
const retention = { logLine: 14, event: undefined, deleted: 30, notification: 90 }
let box: Mailbox
let database: TestDatabase
let stage: Stage
beforeAll(async () => {
  box = await openMailbox()
  database = await freshDatabase()
  const smtp = { url: box.url, from: 'monitor@example.org' }
  stage = await openStage({ databaseUrl: database.url, retention, smtp, mail: ANY_MAIL }, { now: clock.now })
  for (const trigger of ['batch_failed', 'batch_stalled'])
    await database.sql`
      insert into notification_rules (project_key, name, trigger, recipients, created_at)
      select key, ${trigger}, ${trigger}, '{team@example.org}', now() from projects where slug = 'vision'`
  clock.forward({ hours: 1 })
})
afterAll(async () => {
  await stage?.stop()
  await database?.drop()
  await box?.stop()
})

const at = (): string => clock.now().toISOString()
const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)
const failed = (batch_id: string) => makeEvent('batch_failed', { batch_id, timestamp: at() })
const firings = (batchId: string) => database.sql<{ id: number }[]>`
  select f.id from notification_firings f join batches b on b.key = f.batch_key where b.id = ${batchId}`
async function survey(): Promise<number> {
  const log = pino({ level: 'silent' })
  const sweeper = createSweeper({ url: database.url, log, now: clock.now, days: retention })
  const found = await sweeper.survey()
  await sweeper.close()
  return found.find(({ kind }) => kind === 'notifications')?.n ?? 0
}

test('a firing is deleted with its recipients, and a repeat of its event sends no mail', async () => {
  const old = failed('old')
  await send(startOf({ id: 'old', timestamp: at() }), old)
  await mailSent(database.sql)
  clock.forward({ days: 80 })
  await send(startOf({ id: 'young', timestamp: at() }), failed('young'))
  await mailSent(database.sql)
  clock.forward({ days: 20 })
  expect(await survey()).toBe(1)
  await stage.app.runTask('sweep')
  expect([(await firings('old')).length, (await firings('young')).length]).toEqual([0, 1])
  expect(await database.sql`select from notification_mails`).toHaveLength(1)
  expect(await survey()).toBe(0)
  await send(old, old)
  await mailSent(database.sql)
  expect(await firings('old')).toHaveLength(0)
  expect(subjects(box.received)).toEqual(['[vision] old: failed', '[vision] young: failed'])
})

test('a firing with a waiting mail is kept until that is sent', async () => {
  box.received.length = 0
  box.onRecipient = () => {
    throw new Refusal(451)
  }
  await send(startOf({ id: 'waits', timestamp: at() }), failed('waits'))
  const tried = async (): Promise<number | undefined> => {
    const rows = await database.sql<{ attempts: number }[]>`
      select attempts from graphile_worker.jobs where task_identifier = 'mail' and last_error is not null`
    return rows[0]?.attempts
  }
  await expect.poll(tried, { timeout: 20_000 }).toBeGreaterThan(0)
  clock.forward({ days: 100 })
  await stage.app.runTask('sweep')
  expect(await firings('waits')).toHaveLength(1)
  box.onRecipient = () => {}
  await database.sql`
    select graphile_worker.reschedule_jobs(array(select id from graphile_worker.jobs), run_at => now() - interval '1 hour')`
  await mailSent(database.sql)
  expect(subjects(box.received)).toEqual(['[vision] waits: failed'])
  await stage.app.runTask('sweep')
  expect(await firings('waits')).toHaveLength(0)
})

test('a lost run sends one mail, also after its firing was deleted', async () => {
  const { token } = (
    await stage.app.call('POST', '/api/auth/login', {
      body: { email: stage.batchOwner.email, password: 'correct horse battery' },
    })
  ).body
  const agent = await registerAgent(stage.app, token, 'gpu-lost')
  const source = { project: 'vision', host: 'gpu-lost' }
  await send(startOf({ id: 'before', source, timestamp: at() }, { command: 'train', cwd: '/w' }))
  const { cmd_id } = (await stage.app.call('POST', '/api/batches/before/rerun', { token })).body
  const reporter = await agent.start(cmd_id, 99)
  await stage.send({ ...stage.batchOwner, reporter }, [startOf({ id: 'lost', source, timestamp: at() })])
  await send(makeEvent('batch_done', { batch_id: 'before', source, timestamp: at() }))
  clock.forward({ seconds: 30 })
  await agent.say(`jobs/${cmd_id}/result`, { exit_code: 137 })
  clock.forward({ seconds: 90 })
  await agent.say('heartbeat', { running: [] })
  await stage.app.runTask('watch')
  const first = await firings('lost')
  expect(first).toHaveLength(1)
  clock.forward({ days: 100 })
  await stage.app.runTask('sweep')
  await stage.app.runTask('watch')
  await mailSent(database.sql)
  expect(subjects(box.received).filter((subject) => / lost: /.test(subject))).toHaveLength(1)
})
