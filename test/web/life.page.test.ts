import { expect, test } from 'vitest'
import { PLANNED_EPOCHS as servicePlans } from '../../src/domain/eta/planned.ts'
import { PLANNED_EPOCHS as pagePlans } from '../../web/src/lib/planned.ts'
import { makeEvent } from '../ingest/sending.ts'
import { pageFixture } from './page-fixture.ts'
import { seriousFindings } from './visit.ts'

/** What the page shows for a run whose reporter sends nothing any more, and what a user can do about it. */
const process = { pid: 4711, start_time: '1', boot_id: 'b' }
const source = { project: 'vision', host: 'box9' }

const web = pageFixture()

/** Reported by a host whose clock is two minutes behind. */
async function begin(batch_id: string): Promise<void> {
  const sent = new Date(Date.now() - 120_000).toISOString()
  const of = { batch_id, timestamp: sent, source }
  const body = [
    makeEvent('batch_start', { ...of, data: { process, n_total: 1 } }),
    makeEvent('job_start', { ...of, job_id: 'a', data: { epochs: 4 } }),
    ...[0, 1, 2].map((epoch) =>
      makeEvent('job_epoch', { ...of, job_id: 'a', data: { epoch, train_loss: 1 } }),
    ),
  ]
  const headers = { 'x-svc-sent-at': sent }
  const answer = await web.app.call('POST', '/api/events/batch', { token: web.reporter, body, headers })
  expect(answer.status).toBe(200)
}

test('the dialog of a stop explains it, with a command for a host without an agent', async () => {
  await begin('plan')
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/plan')
  await page.getByText('behind').first().waitFor()
  await page.getByText('75%').first().waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Main thread interrupted').waitFor()
  await dialog
    .getByText('run there: kill -TERM 4711, and if it still runs after 30 s: kill -KILL 4711')
    .waitFor()
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a run can be marked as ended with a reason, which its page then shows', async () => {
  await begin('dead')
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/dead')
  await page.getByRole('button', { name: 'Mark as ended' }).click()
  await page.getByLabel('Reason').fill('the host was switched off')
  await page.getByRole('button', { name: 'Mark as failed' }).click()
  await page.getByText('Marked as failed.').waitFor()
  await page.getByRole('button', { name: 'the host was switched off' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a host without an agent is listed with its clock skew', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/hosts')
  const row = page.locator('[data-host="box9"]')
  await row.getByText('no agent').waitFor()
  await row.getByText('behind').waitFor()
  await page.getByText('No agent has registered yet').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('Home lists a lost run with its reason; a job shows its progress', async () => {
  await begin('gone')
  const registered = await web.app.call('POST', '/api/agents/register', {
    token: web.reporter,
    body: { hostname: 'box9', capabilities: [], version: '1' },
  })
  expect(registered.status, JSON.stringify(registered.body)).toBe(200)
  const { agent_id, agent_token } = registered.body
  const heard = await web.app.call('POST', `/api/agents/${agent_id}/heartbeat`, {
    token: agent_token,
    body: { running: [], ended: [{ batch_id: 'gone', ...process, reason: 'out of memory' }] },
  })
  expect(heard.status).toBe(204)
  const { page, context, complaints } = await web.asAda()
  await page.goto('/')
  const need = page.locator('[data-need="lost"]', { hasText: 'gone' })
  await need.getByText('process 4711 ended unexpectedly (out of memory)').waitFor()
  expect(await need.count()).toBe(1)
  expect(await seriousFindings(page)).toEqual([])
  await page.goto('/b/plan/j/a')
  await page.getByText('3 of 4').waitFor()
  expect(await page.getByRole('img', { name: '75% of the epochs', exact: true }).count()).toBe(1)
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a batch and a job that were stopped are shown as stopped, not as failed', async () => {
  const batch_id = 'asked-to-stop'
  await begin(batch_id)
  expect((await web.app.call('POST', `/api/batches/${batch_id}/stop`, { token: web.ada.token })).status).toBe(
    200,
  )
  const data = { reason: 'stop_requested' }
  const timestamp = new Date().toISOString()
  const ends = [
    makeEvent('job_failed', { batch_id, source, timestamp, job_id: 'a', data: { ...data, elapsed_s: 1 } }),
    makeEvent('batch_failed', { batch_id, source, timestamp, data }),
  ]
  const ended = await web.app.call('POST', '/api/events/batch', { token: web.reporter, body: ends })
  expect(ended.body.results.filter((result: { error?: unknown }) => result.error)).toEqual([])
  const { page, context, complaints } = await web.asAda()
  for (const path of [`/b/${batch_id}`, `/b/${batch_id}/j/a`]) {
    await page.goto(path)
    await page.getByText('Stopped as requested').first().waitFor()
    expect(await page.getByText('stop_requested').count()).toBe(0)
  }
  expect(complaints).toEqual([])
  await context.close()
})

test('the page and the service take the planned epochs from the same parameters', () => {
  expect(pagePlans).toEqual(servicePlans)
})
