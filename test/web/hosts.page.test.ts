import { expect, test } from 'vitest'
import { registerAgent } from '../agents/agent.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, sendRanBatch } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

const RAN = 'night-sweep'

const web = pageFixture(async ({ app, reporter }) => {
  await sendRanBatch(app, reporter, RAN)
})
const { asAda: as } = web

test('without a host the page shows how to start an agent, and lists the host once it registers', async () => {
  const { page, context, complaints } = await as()
  await page.goto('/hosts')
  await page.getByText('No agent has registered yet').waitFor()
  const snippet = await page.getByLabel('Commands that start an agent').innerText()
  expect(snippet).toContain(`svc-agent register --svc-url ${web.app.address}`)
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  const agent = await registerAgent(web.app, web.ada.token, 'box7')
  const row = page.locator('[data-host="box7"]')
  await row.getByText('online').waitFor()
  await agent.say('heartbeat', { running: [{ cmd_id: crypto.randomUUID(), pid: 12 }] })
  await row.getByText('1 process').waitFor()
  await agent.say('heartbeat', { running: [] })
  await row.getByText('none', { exact: true }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a host that sends nothing is offline, with the time since then', async () => {
  await registerAgent(web.app, web.ada.token, 'box8')
  await web.app.sql`update agents set last_seen_at = now() - interval '10 minutes' where hostname = 'box8'`
  const { page, context } = await as()
  await page.goto('/hosts')
  await page
    .locator('[data-host="box8"]')
    .getByText(/offline, not seen for 10\smin/)
    .waitFor()
  await context.close()
})

test('the page of a host shows its batches and the commands of its agent, live', async () => {
  const agent = await registerAgent(web.app, web.ada.token, 'box7')
  const of = eventsOf(RAN)
  const util = (ago: number) => of('resource_snapshot', ago, { gpu_util_pct: 70, cpu_util_pct: 20 }, 'good')
  await send(web.app, web.reporter, [util(100), util(70)])
  const { page, context, complaints } = await as()
  await page.goto('/hosts')
  await page.locator('[data-host="box7"]').getByText('GPU 70%').waitFor()
  await page.getByRole('link', { name: 'box7' }).click()
  await page.getByRole('heading', { name: 'box7' }).waitFor()
  await page.getByRole('region', { name: 'Batches', exact: true }).getByText(RAN).waitFor()
  await page.getByRole('region', { name: 'CPU' }).waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  const { body } = await web.app.call('POST', `/api/batches/${RAN}/rerun`, { token: web.ada.token, body: {} })
  const command = page.locator(`[data-command="${body.cmd_id}"]`)
  await command.getByText('pending').waitFor()
  await agent.start(body.cmd_id, 4711)
  await command.getByText('in flight').waitFor()
  await agent.say(`jobs/${body.cmd_id}/result`, { exit_code: 2 })
  await command.getByText('exit code 2').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a command that is created while the page reads the first commands is shown', async () => {
  const agent = await registerAgent(web.app, web.ada.token, 'box7')
  const { page, context } = await as()
  let release = (): void => {}
  const changed = new Promise<void>((resolve) => {
    release = resolve
  })
  let held = 0
  await page.route('**/graphql', async (route) => {
    const answer = await route.fetch()
    // The first answer is from before the command, and arrives after the message about it.
    if (route.request().postData()?.includes('agentCommands') && held++ === 0) await changed
    await route.fulfill({ response: answer })
  })
  await page.goto(`/hosts/${agent.id}`)
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await expect.poll(() => held, { timeout: 20_000 }).toBe(1)
  const { body } = await web.app.call('POST', `/api/batches/${RAN}/rerun`, { token: web.ada.token, body: {} })
  // Or the page subscribes to the host only after that answer; then the message comes afterwards.
  await page
    .getByText('1 command', { exact: true })
    .waitFor({ timeout: 3_000 })
    .catch(() => {})
  release()
  await page.locator(`[data-command="${body.cmd_id}"]`).getByText('pending').waitFor()
  await context.close()
})

test('the charts of a host are updated live, also with a batch that starts meanwhile', async () => {
  const agent = await registerAgent(web.app, web.ada.token, 'box10')
  const [first, second] = ['on-box10', 'later-on-box10'].map((id) => eventsOf(id, { host: 'box10' }))
  if (first === undefined || second === undefined) throw new Error('two batches')
  const uses = (of: typeof first, ago: number) => of('resource_snapshot', ago, { cpu_util_pct: 20 + ago })
  await send(web.app, web.reporter, [
    first('batch_start', 300, { n_total: 1 }),
    uses(first, 200),
    uses(first, 150),
  ])
  const { page, context, complaints } = await as()
  await page.goto(`/hosts/${agent.id}`)
  const chart = page.locator('[data-chart="CPU utilisation"] [data-points]')
  await chart.getByText('2 of 2 points').waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await send(web.app, web.reporter, [uses(first, 60)])
  await chart.getByText('3 of 3 points').waitFor()
  await send(web.app, web.reporter, [second('batch_start', 30, { n_total: 1 })])
  await page.getByRole('region', { name: 'Batches', exact: true }).getByText('later-on-box10').waitFor()
  let ago = 29
  // The page subscribes to it from then on; earlier samples are in the answer with its curve.
  await expect
    .poll(
      async () => {
        await send(web.app, web.reporter, [uses(second, ago--)])
        return chart.innerText()
      },
      { timeout: 20_000, interval: 1_000 },
    )
    .toMatch(/^([5-9]|\d\d) of/)
  expect(complaints).toEqual([])
  await context.close()
})

test('the dialog to revoke an agent names its running processes, and takes effect at once', async () => {
  const agent = await registerAgent(web.app, web.ada.token, 'box9')
  await agent.say('heartbeat', { running: [{ cmd_id: crypto.randomUUID(), pid: 12 }] })
  const { page, context } = await as()
  await page.goto(`/hosts/${agent.id}`)
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByText(/1 process that it started run on/).waitFor()
  await page.getByRole('button', { name: 'Revoke it' }).click()
  await page.getByText(/^\s*revoked .*\sago/).waitFor()
  expect((await agent.jobs()).status).toBe(401)
  await context.close()
})

test.each([
  ['light', 1440],
  ['dark', 390],
] as const)('the page of a host shows its running jobs and the resources of each, %s at %i px', async (theme, width) => {
  const agent = await registerAgent(web.app, web.ada.token, 'box7')
  const id = `busy-${theme}`
  const of = eventsOf(id)
  const use = (agoS: number, util: number) =>
    of(
      'resource_snapshot',
      agoS,
      {
        gpu_util_pct: util,
        gpu_mem_mb: 20_480,
        cpu_util_pct: 35,
        ram_mb: 8_192,
        ram_total_mb: 65_536,
        gpus: [3, 1].map((index) => ({
          index,
          uuid: `GPU-${9 - index}`,
          util_pct: util,
          mem_total_mb: 40_960,
        })),
      },
      'first',
    )
  await send(web.app, web.reporter, [
    of('batch_start', 100, { experiment_type: 'sweep', n_total: 3 }),
    ...['first', 'second', 'third'].map((job) => of('job_start', 95, {}, job)),
    use(90, 11),
    use(60, 71),
    of('job_done', 50, { elapsed_s: 45 }, 'third'),
  ])
  const { page, context, complaints } = await as({ theme, width })
  await page.goto(`/hosts/${agent.id}`)
  const now = page.getByRole('region', { name: 'Running now' })
  const row = now.locator('tr', { has: page.locator(`a[href*="/b/${id}/j/first"]`) })
  await page.locator('header dt', { hasText: /^GPUs$/ }).waitFor()
  const cells = async () => (await row.locator('td').allTextContents()).slice(-6, -1)
  await expect.poll(cells).toEqual(['1, 3', '71%', '20 of 80 GiB', '35%', '8 of 64 GiB'])
  await now.locator(`a[href*="/b/${id}/j/second"]`).waitFor()
  expect(await now.locator(`a[href*="/b/${id}/j/third"]`).count()).toBe(0)
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await send(web.app, web.reporter, [use(0, 93)])
  await expect.poll(async () => (await cells())[1]).toBe('93%')
  expect(await seriousFindings(page)).toEqual([])
  await send(web.app, web.reporter, [of('job_done', 0, { elapsed_s: 90 }, 'second')])
  await now.locator(`a[href*="/b/${id}/j/second"]`).waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await context.close()
})
