import { expect, test } from 'vitest'
import { registerAgent } from '../agents/agent.ts'
import { pageFixture } from './page-fixture.ts'
import { type Event, send, seriousFindings } from './visit.ts'

const web = pageFixture(async ({ app, ada }) => {
  await app.call('POST', '/api/projects', { token: ada.token, body: { slug: 'digits' } })
})

const event = (type: string, batchId: string, jobId: string, data: Record<string, unknown>): Event => ({
  event_id: crypto.randomUUID(),
  schema_version: '1.1',
  event_type: type,
  batch_id: batchId,
  job_id: jobId,
  timestamp: new Date().toISOString(),
  source: { project: 'digits' },
  data,
})

const ask = (id: string, worker: string) =>
  web.app.call('POST', `/api/sweeps/${id}/trials`, { token: web.reporter, body: { worker } })

/** A worker that completes one trial. */
async function work(sweep: { id: string; batch_id: string }, loss: number): Promise<void> {
  const { body } = await ask(sweep.id, 'box7:1')
  await send(web.app, web.reporter, [
    event('job_epoch', sweep.batch_id, body.job_id, { epoch: 0, val_loss: loss }),
    event('job_done', sweep.batch_id, body.job_id, { elapsed_s: 1 }),
  ])
}

test('a sweep is created in a project, previewed, followed, paused, resumed, extended and edited', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/p/digits')
  await page.getByRole('button', { name: 'New sweep' }).click()
  const form = page.getByRole('dialog', { name: 'New sweep' })
  await form.getByLabel('Name').first().fill('Rates')
  await form.getByLabel('Most trials').fill('4')
  await form.getByLabel('Values').fill('0.1, 0.01')
  await form.getByRole('button', { name: 'Add a parameter' }).click()
  const second = form.getByRole('group', { name: 'Parameter 2' })
  await second.getByLabel('Name').fill('depth')
  await second.getByLabel('Kind').selectOption('range')
  await second.getByLabel('From').fill('1')
  await second.getByLabel('To').fill('0.5')
  await form.getByText('min that is not above its max').waitFor()
  await second.getByLabel('To').fill('3')
  await form.getByText('4 trials').waitFor()
  await form.getByText('lr=0.1 depth=2').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await form.getByRole('button', { name: 'Create' }).click()
  const ready = page.getByRole('dialog', { name: 'Rates is ready' })
  const command = await ready.getByRole('region', { name: 'Command of a worker' }).textContent()
  const id = /sweep run (\S+) --/.exec(command ?? '')?.[1] ?? ''
  const sweep = (await web.app.call('GET', `/api/sweeps/${id}`, { token: web.reporter })).body
  await ready.getByRole('link', { name: 'Open the sweep' }).click()
  const panel = page.getByRole('region', { name: 'Trials' })
  await panel.getByText('No worker has asked').waitFor()
  await work(sweep, 0.5)
  await work(sweep, 0.25)
  expect((await ask(id, 'box8:2')).body.number).toBe(2)
  await panel.getByText('2 completed').waitFor()
  await panel.getByRole('row', { name: /^box8 2 trial-2/ }).waitFor()
  await panel.getByRole('img', { name: 'Best so far over 2 completed trials: 0.25' }).waitFor()
  await panel.getByRole('button', { name: 'Pause' }).click()
  await panel.getByRole('button', { name: 'Resume' }).waitFor()
  expect((await ask(id, 'box7:1')).body.code).toBe('sweep_paused')
  await panel.getByRole('button', { name: 'Resume' }).click()
  await panel.getByRole('button', { name: 'Pause' }).waitFor()
  await panel.getByRole('button', { name: 'Extend' }).click()
  await page.getByRole('textbox', { name: 'Trials' }).fill('6')
  await page.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('2 of 6 trials ended').waitFor()
  await panel.getByRole('combobox', { name: 'Best so far over' }).selectOption('time')
  await panel.getByRole('button', { name: 'Best with 3 seeds' }).click()
  await panel.getByText('3 queued').waitFor()
  expect((await ask(id, 'box7:1')).body.params).toEqual({ lr: 0.1, depth: 2, seed: 1 })
  await panel.getByRole('button', { name: 'Try around the best' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit the space' })
  expect(await edit.getByLabel('Values').inputValue()).toBe('0.1, 0.01')
  expect(await edit.getByLabel('To').inputValue()).toBe('3')
  await edit.getByRole('group', { name: 'Parameter 2' }).getByLabel('Only if').fill('lr=0.1')
  await edit.getByText('lr=0.01', { exact: true }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await edit.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('New space from trial 6 on, by Ada').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  const line = `svc-reporter sweep run ${id} -- python train.py`
  const recorded = { host: 'box7', command: line, cwd: '/work' }
  await web.app.call('POST', `/api/sweeps/${id}/commands`, { token: web.reporter, body: recorded })
  const agent = await registerAgent(web.app, web.ada.token, 'box7')
  await page.reload()
  await panel.getByRole('button', { name: 'Start workers on box7' }).click()
  const start = page.getByRole('dialog', { name: 'Start workers' })
  await start.getByText(line).waitFor()
  await start.getByLabel('Workers').fill('2')
  expect(await seriousFindings(page)).toEqual([])
  await start.getByRole('button', { name: 'Start 2 workers' }).click()
  await page.getByText('2 workers requested on box7').waitFor()
  expect((await agent.jobs()).body.jobs).toMatchObject([{ command: line }, { command: line }])
  await page.goto(`/b/${sweep.batch_id}/timeline`)
  await page.getByText('2 workers of the sweep requested on box7').waitFor()
  await page.getByText('Space of the sweep edited').waitFor()
  await page.getByText('Trial 1 queued with 3 other seeds').waitFor()
  await page.getByText('Sweep has 6 trials from now on').waitFor()
  await context.close()
})
