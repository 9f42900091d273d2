import { readFile } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import { describe, expect, test } from 'vitest'
import { registerAgent, type TestAgent } from '../agents/agent.ts'
import { pageFixture } from './page-fixture.ts'
import { COMMAND, eventsOf, sendRanBatch } from './ran-batch.ts'
import { hoverUntil, send } from './visit.ts'

const RAN = 'night-sweep'
const web = pageFixture(({ app, reporter }) => sendRanBatch(app, reporter, RAN), {
  accounts: ['grace', 'ada'],
})
const { as, asAda } = web
const rungs = (page: Page, name: string): Promise<string[]> =>
  page.getByRole('region', { name }).locator('[data-rung="done"]').allInnerTexts()
const live = (page: Page) => page.locator('[data-stream]', { hasText: 'live' }).waitFor()

describe('a rerun', () => {
  let agent: TestAgent

  test('shows what would run, on which host, from which git state, and why it is not possible now', async () => {
    const { page, context, complaints } = await asAda()
    await page.goto(`/b/${RAN}`)
    await page.getByRole('button', { name: 'Rerun', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('You have no agent on box7').waitFor()
    const which = 'only 1 failed, 1 lost, 1 missing'
    for (const part of [COMMAND, '/home/ada/digits', 'box7', 'abc1234', 'on main', 'not committed', which])
      await expect.poll(() => dialog.innerText()).toContain(part)
    await expect.poll(() => dialog.getByRole('button', { name: 'Rerun all jobs' }).isDisabled()).toBe(true)
    expect(complaints).toEqual([])
    await context.close()
  })

  test('shows when the agent was last seen', async () => {
    agent = await registerAgent(web.app, web.ada.token, 'box7')
    await web.app.sql`update agents set last_seen_at = now() - interval '4 minutes' where id = ${agent.id}`
    const { page, context } = await asAda()
    await page.goto(`/b/${RAN}`)
    await page.getByRole('button', { name: 'Rerun', exact: true }).click()
    await page
      .getByText(/^The agent on box7 has not been seen for 4\smin(\s\d+\ss)?; a rerun can be requested when/)
      .waitFor()
    await context.close()
  })

  test('of a batch of another user cannot change the command', async () => {
    const { page, context } = await as(web.admin)
    await page.goto(`/b/${RAN}`)
    await page.getByRole('button', { name: 'Rerun', exact: true }).click()
    await page.getByText('What runs is what was recorded; only ada may change it.').waitFor()
    expect(await page.getByRole('button', { name: 'Change what runs' }).count()).toBe(0)
    await context.close()
  })

  test('from the board is sent to the agent with one click, and is shown until its end', async () => {
    await agent.say('heartbeat', { running: [] })
    const { page, context, complaints } = await asAda()
    await page.goto(`/b/${RAN}/jobs`)
    await live(page)
    await page.getByRole('button', { name: 'Rerun 1 failed, 1 lost, 1 missing' }).click()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.getByLabel('only 1 failed, 1 lost, 1 missing').isChecked()).toBe(true)
    await dialog.getByText('online', { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Rerun 3 jobs' }).click()
    const name = 'Rerun of failed, lost and missing jobs'
    await expect.poll(() => rungs(page, name)).toHaveLength(1)
    const { jobs } = (await agent.jobs()).body
    expect(jobs).toMatchObject([{ kind: 'rerun', command: COMMAND, cwd: '/home/ada/digits' }])
    const token = await agent.start(jobs[0].cmd_id, 4711)
    await expect.poll(async () => (await rungs(page, name)).join('\n')).toContain('pid 4711')
    const of = eventsOf('night-sweep-again')
    await send(web.app, token, [of('batch_start', 0, { rerun_of: RAN, n_total: 3 })])
    await page.getByRole('link', { name: 'Open night-sweep-again' }).waitFor()
    await agent.say(`jobs/${jobs[0].cmd_id}/result`, { exit_code: 3, output_tail: 'Traceback: no such file' })
    await expect.poll(async () => (await rungs(page, name)).at(-1)).toContain('exit code 3')
    await page.getByText('The end of its output').click()
    await page.getByText('Traceback: no such file').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  test('that no agent has started can be cancelled', async () => {
    const { page, context } = await asAda()
    await page.goto(`/b/${RAN}`)
    await live(page)
    await page.getByRole('button', { name: 'Rerun', exact: true }).click()
    await page.getByRole('button', { name: 'Change what runs' }).click()
    await page.getByLabel('Command').fill('python train.py --lr 0.2')
    await page.getByRole('button', { name: 'Rerun all jobs' }).click()
    await page.getByRole('button', { name: 'Cancel rerun' }).click()
    await page.getByText('cancelled before it started').waitFor()
    const { items } = (await web.app.call('GET', `/api/batches/${RAN}/commands`, { token: web.ada.token }))
      .body
    expect(items[0]).toMatchObject({
      state: 'cancelled',
      overridden: ['command'],
      command: 'python train.py --lr 0.2',
    })
    await context.close()
  })

  test('that is stopped shows all steps from the request to the exit code', async () => {
    await web.app.call('POST', `/api/batches/${RAN}/rerun`, { token: web.ada.token, body: {} })
    const [{ cmd_id }] = (await agent.jobs()).body.jobs
    const token = await agent.start(cmd_id, 99)
    const id = 'to-be-stopped'
    const of = eventsOf(id)
    await send(web.app, token, [of('batch_start', 5, { n_total: 1 }), of('job_start', 4, {}, 'one')])
    await agent.say('heartbeat', { running: [{ cmd_id, pid: 99 }] })
    const { page, context, complaints } = await asAda()
    await page.goto(`/b/${id}`)
    await live(page)
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByText('SIGTERM by the agent, then SIGKILL').waitFor()
    await page.getByRole('button', { name: 'Stop it' }).click()
    await expect.poll(async () => (await rungs(page, 'Stopping')).join()).toContain('Stop requested')
    const [stop] = (await agent.jobs()).body.jobs
    await web.app.call('GET', `/api/batches/${id}/stop-requested`, { token })
    await agent.say(`jobs/${stop.cmd_id}/ack`, { pid: 99 })
    await agent.say(`jobs/${stop.cmd_id}/steps`, {
      steps: [{ step: 'sigterm', ago_s: 31 }, { step: 'sigkill' }],
    })
    await agent.say(`jobs/${stop.cmd_id}/result`, { exit_code: 137 })
    await expect
      .poll(async () => (await rungs(page, 'Stopping')).map((text) => /[✓×] [^\n]*/.exec(text)?.[0]?.trim()))
      .toEqual([
        '✓ Stop requested',
        '✓ Seen by the script',
        '✓ Agent has the command',
        '✓ Agent acknowledged',
        '✓ SIGTERM sent',
        '✓ SIGKILL sent',
        '✓ Process ended',
      ])
    const said = (await rungs(page, 'Stopping')).join('\n')
    expect(said).toMatch(/\d\d:\d\d:\d\d ada/)
    expect(said).toContain('agent on box7')
    expect(said).toContain('exit code 137')
    expect(complaints).toEqual([])
    await context.close()
  })
})

test('the timeline shows who did what, and is updated live', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(`/b/${RAN}/timeline`)
  await live(page)
  const steps = page.locator('[data-step]')
  await expect.poll(() => steps.first().innerText()).toContain('4 jobs planned')
  await page.getByText('Batch failed').waitFor()
  const edited = page.locator('[data-step="edited"]')
  expect(await edited.count()).toBe(0)
  const answer = await web.app.call('PATCH', `/api/batches/${RAN}`, {
    token: web.admin.token,
    body: { notes: 'look at the memory', tags: ['night'] },
  })
  expect(answer.status).toBe(200)
  await edited.waitFor()
  await expect.poll(() => edited.innerText()).toContain('grace')
  await page.getByText('look at the memory').first().waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('board, table and keys share one selection; filter and order are in the address', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(`/b/${RAN}/jobs`)
  await hoverUntil(page.locator('[data-job="bad"]'), page.locator('[data-cell="bad"].outline-accent'))
  await hoverUntil(page.locator('[data-cell="gone"]'), page.locator('[data-job="gone"][data-lit]'))
  await page.locator('[data-cell="gone"]').click()
  await page.waitForURL(/job=gone/)
  await page.getByRole('columnheader', { name: 'lr' }).getByRole('button').click()
  await page.getByRole('columnheader', { name: 'lr' }).getByRole('button').click()
  await page.waitForURL(/sort=-p\.lr/)
  await page.mouse.move(5, 5)
  const shown = () => page.locator('[data-job]').evaluateAll((rows) => rows.map((row) => row.dataset.job))
  await expect.poll(shown).toEqual(['gone', 'bad', 'good'])
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.locator('[data-job="bad"][data-lit]').waitFor()
  await page.keyboard.press('k')
  await page.locator('[data-job="gone"][data-lit]').waitFor()
  await page.getByLabel('Find jobs').fill('memory')
  await expect.poll(shown).toEqual(['bad'])
  await page.reload()
  await expect.poll(shown).toEqual(['bad'])
  await page.getByRole('button', { name: 'Show all jobs' }).click()
  await page.getByLabel('Status').selectOption('lost')
  await expect.poll(shown).toEqual(['gone'])
  await page.locator('[data-job="gone"] a').click()
  await page.waitForURL(`/b/${RAN}/j/gone`)
  expect(complaints).toEqual([])
  await context.close()
})

test('nested parameters and every series that a job has are columns of the table', async () => {
  const of = eventsOf('nested')
  const at = (job: string, dim: number, acc: number) => [
    of('job_start', 90, { arch: { dim, layers: 2 }, lr: dim / 1_000 }, job),
    of('job_epoch', 80, { epoch: 0, val_loss: 1 / dim, lr: 0.01, 'eval/acc': acc }, job),
  ]
  await send(web.app, web.reporter, [
    of('batch_start', 100, { n_total: 2 }),
    ...at('small', 16, 0.7),
    ...at('large', 64, 0.9),
  ])
  const { page, context, complaints } = await asAda({ width: 1440 })
  await page.goto('/b/nested/jobs?sort=-l.eval%2Facc')
  await page.locator('[data-job="large"]', { hasText: '0.9' }).waitFor()
  const heads = () => page.getByRole('columnheader').allInnerTexts()
  const said = [
    'Job',
    'Status',
    'Epochs',
    'last.val_loss',
    'arch/dim',
    'lr',
    'last.eval/acc ↓',
    'last.lr',
    'Elapsed',
  ]
  await expect.poll(heads).toEqual(said)
  expect(await page.locator('[data-job]').first().getAttribute('data-job')).toBe('large')
  // Beside the table there is room for more than one chart.
  await expect.poll(() => page.locator('[data-chart]').count()).toBe(2)
  expect(complaints).toEqual([])
  await context.close()
})

test('the value that jobs are sorted by is shown in the table and beside the names of curves', async () => {
  const of = eventsOf('ordered')
  const at = (job: string, lr: number, acc: number) => [
    of('job_start', 90, { lr, depth: 2 }, job),
    of('job_epoch', 80, { epoch: 0, val_loss: lr, acc }, job),
  ]
  await send(web.app, web.reporter, [
    of('batch_start', 100, { n_total: 3 }),
    ...at('fast', 0.1, 0.8),
    ...at('other', 0.1, 0.7),
    ...at('slow', 0.01, 0.9),
  ])
  const { page, context, complaints } = await asAda({ width: 1440 })
  // No job differs in its depth, so that it has no column of its own.
  await page.goto('/b/ordered/jobs?sort=-p.depth')
  const heads = () => page.getByRole('columnheader').allInnerTexts()
  await expect
    .poll(heads)
    .toEqual(['Job', 'Status', 'depth ↓', 'Epochs', 'last.val_loss', 'lr', 'last.acc', 'Elapsed'])
  await page.getByRole('columnheader', { name: 'lr' }).getByRole('button').click()
  await expect
    .poll(heads)
    .toEqual(['Job', 'Status', 'Epochs', 'last.val_loss', 'lr ↑', 'last.acc', 'Elapsed'])
  // They stay while a filter leaves jobs that differ in nothing.
  await page.getByLabel('Find jobs').fill('lr>0.05')
  await expect.poll(() => page.locator('[data-job]').count()).toBe(2)
  expect(await heads()).toEqual(['Job', 'Status', 'Epochs', 'last.val_loss', 'lr ↑', 'last.acc', 'Elapsed'])

  await page.goto('/b/ordered?by=-last.acc')
  const names = page.getByRole('complementary', { name: 'Jobs' }).getByRole('listitem')
  await expect
    .poll(() => names.getByTitle('last.acc').allInnerTexts())
    .toEqual(['0.9000', '0.8000', '0.7000'])
  await page.getByLabel('Jobs drawn first').selectOption('param.lr')
  await expect
    .poll(async () => (await names.getByTitle('param.lr').allInnerTexts()).toSorted())
    .toEqual(['0.01', '0.1', '0.1'])
  expect(complaints).toEqual([])
  await context.close()
})

test('of a thousand jobs the board shows all, and the table renders only visible rows', async () => {
  const of = eventsOf('thousand')
  const ids = Array.from({ length: 1_000 }, (_, i) => `job-${String(i).padStart(4, '0')}`)
  await send(web.app, web.reporter, [
    of('batch_start', 100, { n_total: 1_200 }),
    ...ids.map((id, i) => of('job_start', 90, { lr: i }, id)),
  ])
  const { page, context, complaints } = await asAda()
  let reads = 0
  page.on('request', (request) => {
    if (/"jobs":true/.test(request.postData() ?? '')) reads++
  })
  await page.goto('/b/thousand/jobs')
  await page.getByText('1,000 jobs started of 1,200 planned').waitFor()
  await expect.poll(() => page.locator('[data-cell]').count()).toBe(1_000)
  await expect.poll(() => page.locator('[data-job]').count()).toBeLessThan(60)
  await page.locator('[data-cell="job-0999"]').click()
  await page.locator('[data-job="job-0999"]').waitFor()
  // The page asks for them before its code is there, and not once more when it is; a later visit reads again.
  expect(reads).toBe(1)
  await page.getByRole('link', { name: 'Home' }).click()
  await expect.poll(() => page.locator('[data-cell]').count()).toBe(0)
  await page.goBack()
  await page.locator('[data-cell="job-0999"]').waitFor()
  await expect.poll(() => reads).toBe(2)
  // An address that names a row shows it, in any order of rows.
  for (const sort of ['', '&sort=-lr']) {
    await page.goto(`/b/thousand/jobs?job=job-0620${sort}`)
    await page.locator('[data-job="job-0620"]').waitFor()
    const seen = () =>
      page.locator('[data-job="job-0620"]').evaluate((row) => {
        const { left, top, height } = row.getBoundingClientRect()
        return row.contains(document.elementFromPoint(left + 8, top + height / 2))
      })
    await expect.poll(seen).toBe(true)
  }
  expect(complaints).toEqual([])
  await context.close()
}, 240_000)

test('all pulsing dots are in phase, no matter when they appeared', async () => {
  const of = eventsOf('pulsing')
  await send(web.app, web.reporter, [of('batch_start', 100), of('job_start', 90, {}, 'first')])
  const { page, context } = await asAda()
  await page.goto('/b/pulsing/jobs')
  await page.locator('[data-cell="first"].pulse').waitFor()
  await live(page)
  await send(web.app, web.reporter, [of('job_start', 80, {}, 'second')])
  await page.locator('[data-cell="second"].pulse').waitFor()
  const pulses = () =>
    page.evaluate(() =>
      document
        .getAnimations()
        .filter((one) => (one as CSSAnimation).animationName === 'pulse-dot')
        .map((one) => `${one.startTime} ${one.effect?.getComputedTiming().progress}`),
    )
  // Two cells, two rows, and what says that the batch runs.
  await expect.poll(async () => (await pulses()).length).toBeGreaterThanOrEqual(5)
  await expect.poll(async () => new Set(await pulses()).size).toBe(1)
  expect((await pulses())[0]).toMatch(/^0 /)
  await context.close()
})

test('log lines with any content are shown as text, and can be filtered, linked and downloaded', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(`/b/${RAN}/logs`)
  const lines = page.locator('[data-line]')
  await page.getByText('<b>not bold</b>').waitFor()
  await expect.poll(() => page.locator('[data-line] .text-failed', { hasText: 'red' }).count()).toBe(1)
  expect(await page.locator('[data-line] b').count()).toBe(0)
  await page.getByLabel('Least level').selectOption('error')
  await expect.poll(() => lines.count()).toBe(1)
  await page.waitForURL(/level=error/)
  await page.getByLabel('Least level').selectOption('')
  await page.getByLabel('Search log lines').fill('dropped')
  await expect.poll(() => lines.count()).toBe(1)
  await page.getByLabel('Search log lines').fill('')
  await expect.poll(() => lines.count()).toBe(3)
  const address = await lines.nth(1).getByRole('link').first().getAttribute('href')
  expect(address).toMatch(/line=\d+/)
  await page.goto(address ?? '')
  await page.locator('[data-line][aria-current]', { hasText: 'lr dropped' }).waitFor()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  const saved = await readFile(await (await saving).path(), 'utf8')
  expect(saved.trim().split('\n')).toHaveLength(3)
  expect(saved).toContain('warning good lr dropped to 0.01')
  await page.getByRole('button', { name: 'Follow the newest' }).click()
  await live(page)
  await send(web.app, web.reporter, [eventsOf(RAN)('log_line', 0, { line: 'a late word' }, 'good')])
  await page.getByText('a late word').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('each measure is one chart with a curve per GPU of the batch, and idle periods are marked', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(`/b/${RAN}/resources`)
  const gpus = page.getByRole('region', { name: 'GPUs', exact: true })
  // Charts outside of the viewport are only placeholders.
  await gpus.scrollIntoViewIfNeeded()
  await gpus.locator('[data-chart="GPU utilisation"] [data-points]', { hasText: '80 of 80 points' }).waitFor()
  const idle = page.getByRole('region', { name: 'Idle GPUs' })
  await idle.getByText('idle 9 min of 19 min 30 s (46%)').waitFor()
  await idle.getByText('GPU 0, good').waitFor()
  await idle.getByRole('button', { name: /^Idle for 9 min/ }).click()
  await page.waitForURL(/zoom=/)
  expect(complaints).toEqual([])
  await context.close()
})

test('the dialog of a delete says what is deleted and how long it can be restored, and the address of the batch offers Restore', async () => {
  const of = eventsOf('by-mistake')
  await send(web.app, web.reporter, [of('batch_start', 10, { n_total: 1 }), of('job_start', 9, {}, 'one')])
  const { page, context } = await asAda()
  await page.goto('/b/by-mistake')
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText(/This deletes its 1 job, all curves.* It can be restored for 30 days/).waitFor()
  await page.getByRole('button', { name: 'Delete it' }).click()
  await page.waitForURL('/p/digits')
  await page.getByText('1 batch deleted; kept for 30 days.').waitFor()
  const elsewhere = eventsOf('elsewhere', { project: 'elsewhere' })
  await send(web.app, web.reporter, [elsewhere('batch_start', 9), elsewhere('batch_done', 8)])
  await page.goto('/b/by-mistake')
  await page.getByRole('button', { name: 'Restore it' }).waitFor()
  // Messages about it change nothing: it stays deleted. One about another batch, sent after them, says that they came.
  for (const [method, path] of [
    ['POST', '/api/batches/by-mistake/restore'],
    ['DELETE', '/api/batches/by-mistake'],
  ] as const)
    expect((await web.app.call(method, path, { token: web.ada.token })).status).toBeLessThan(300)
  await send(web.app, web.reporter, [
    eventsOf('running-elsewhere', { project: 'elsewhere' })('batch_start', 1),
  ])
  const rail = page.getByRole('navigation', { name: 'Projects' })
  await rail.getByRole('link', { name: /elsewhere.*1 running/ }).waitFor()
  await page.getByRole('button', { name: 'Restore it' }).click()
  await page.getByRole('heading', { name: 'by-mistake' }).waitFor()
  expect((await web.app.call('GET', '/api/batches/by-mistake', { token: web.ada.token })).status).toBe(200)
  await context.close()
})

describe('a shared link', () => {
  const share = async (body: object): Promise<{ id: string; url: string }> =>
    (await web.app.call('POST', `/api/batches/${RAN}/shares`, { token: web.ada.token, body })).body

  test('shows charts, jobs, log and resources without a sign-in', async () => {
    const { url } = await share({})
    const { page, context, complaints } = await web.signedOut()
    await page.goto(url)
    const views = page.getByRole('navigation', { name: 'Views of the batch' })
    await views.getByRole('link', { name: 'jobs' }).click()
    await page.locator('[data-job="bad"]').waitFor()
    await views.getByRole('link', { name: 'logs' }).click()
    await page.getByText('out of memory', { exact: true }).waitFor()
    await views.getByRole('link', { name: 'resources' }).click()
    await page.getByRole('region', { name: 'GPUs', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Rerun' }).count()).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })

  test('has a link for every log line', async () => {
    const { url } = await share({})
    const { page, context, complaints } = await web.signedOut()
    await page.goto(`${url}?tab=logs`)
    const line = page.locator('[data-line]', { hasText: 'lr dropped' })
    await line.getByRole('link').click()
    await page.waitForURL(/line=\d+/)
    await page.locator('[data-line][aria-current]', { hasText: 'lr dropped' }).waitFor()
    const other = await web.signedOut()
    await other.page.goto(page.url())
    await other.page.locator('[data-line][aria-current]', { hasText: 'lr dropped' }).waitFor()
    expect(await other.page.locator('[data-line]', { hasText: 'begun' }).count()).toBe(1)
    expect([...complaints, ...other.complaints]).toEqual([])
    await context.close()
    await other.context.close()
  })

  test('that is anonymous shows neither log nor host, and a revoked one says that it is invalid', async () => {
    const { id, url } = await share({ anonymous: true })
    const { page, context } = await web.signedOut()
    await page.goto(`${url}?tab=logs`)
    await page.getByText('This link shows no log lines').waitFor()
    expect(await page.locator('main').innerText()).not.toContain('box7')
    expect((await web.app.call('DELETE', `/api/shares/${id}`, { token: web.ada.token })).status).toBe(204)
    await page.getByText('This link is no longer valid').waitFor()
    await context.close()
  })
})

test('the table is below the board, the charts are beside both, and their range is in the address', async () => {
  const { page, context, complaints } = await asAda({ width: 1440 })
  await page.goto(`/b/${RAN}/jobs?zoom=%5B2%2C6%5D`)
  await page.locator('[data-chart="val_loss"] [data-points]', { hasText: 'points' }).waitFor()
  const place = async (at: string) => {
    const box = await page.locator(at).boundingBox()
    if (box === null) throw new Error(`${at} has no place`)
    return box
  }
  const board = await place('section[aria-label="Completion board"]')
  const table = await place('[role="table"][aria-label="Jobs"]')
  const chart = await place('[data-chart="val_loss"]')
  expect(table.y - (board.y + board.height)).toBeLessThan(80)
  expect(chart.y).toBeLessThan(table.y)
  expect(chart.x).toBeGreaterThanOrEqual(table.x + table.width)
  // Five epochs of three jobs; one lacks the last two of them.
  expect(await page.locator('[data-chart="val_loss"] [data-points]').innerText()).toMatch(
    /^1\d of 1\d points/,
  )
  expect(complaints).toEqual([])
  await context.close()
})
