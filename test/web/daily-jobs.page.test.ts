import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { type Account, pageFixture } from './page-fixture.ts'
import { eventsOf, settled } from './ran-batch.ts'
import { moveUntil, send, seriousFindings } from './visit.ts'

// What people do with the page every day, each with the most clicks that it may take. A newcomer's first run is in
// first-run.test.ts.

/** A run as `svc_reporter.init` makes it: a batch with one job. */
function run(id: string, agoS: number, { lr, project = 'digits' }: { lr: number; project?: string }) {
  const of = eventsOf(id, { project })
  return [
    of('batch_start', agoS, { experiment_type: 'run', n_total: 1, tags: lr > 0.01 ? ['fast'] : [] }),
    of('job_start', agoS, { lr }, 'main'),
    ...Array.from({ length: 10 }, (_, epoch) =>
      of(
        'job_epoch',
        agoS - epoch,
        {
          epoch,
          'train/loss': (1 + lr) / (epoch + 1),
          'val/loss': (1.1 + lr) / (epoch + 1),
          'val/acc': 0.5 + epoch / 20,
          'opt/lr': lr,
        },
        'main',
      ),
    ),
    of('job_done', agoS - 10, {}, 'main'),
    of('batch_done', agoS - 10, { n_done: 1, n_failed: 0, total_elapsed_s: 10 }),
  ]
}

const LAB = { project: 'lab' }

/** A sweep in which only the learning rate matters. */
function sweep(id: string) {
  const of = eventsOf(id, LAB)
  const jobs = Array.from({ length: 24 }, (_, i) => ({ id: `j${i}`, lr: 10 ** -(1 + (i % 3)), seed: i }))
  return [
    of('batch_start', 5000, { experiment_type: 'sweep', n_total: jobs.length }),
    ...jobs.flatMap(({ id: job, lr, seed }) => [
      of('job_start', 5000, { lr, seed, width: 64 + 64 * (seed % 2) }, job),
      ...[0, 1, 2, 3].map((epoch) => {
        const spike = job === 'j4' && epoch === 2 ? 50 : 0
        return of(
          'job_epoch',
          4900 - epoch,
          { epoch, val_loss: Math.abs(Math.log10(lr) + 2) + 1 / (epoch + 1) + seed / 1e4 + spike },
          job,
        )
      }),
      of('job_done', 4800, { metrics: { acc: 0.9 - seed / 100 } }, job),
    ]),
    of('batch_done', 4700, { n_done: jobs.length, n_failed: 0, total_elapsed_s: 300 }),
  ]
}

/** Three jobs that fail for the same reason. */
function crashes(id: string) {
  const of = eventsOf(id, LAB)
  const traceback =
    'Traceback (most recent call last):\n  File "train.py", line 9, in step\n    loss.backward()\nRuntimeError: CUDA out of memory'
  return [
    of('batch_start', 900, {
      experiment_type: 'sweep',
      n_total: 3,
      command: 'python train.py',
      cwd: '/work',
    }),
    ...['a', 'b', 'c'].flatMap((job) => [
      of('job_start', 890, { lr: 1 }, job),
      of('job_failed', 880, { reason: 'CUDA out of memory', traceback }, job),
    ]),
    of('batch_failed', 870, { reason: 'CUDA out of memory' }),
  ]
}

const web = pageFixture(async ({ app, reporter }) => {
  const live = eventsOf('live', LAB)
  // In a project of its own, so that no list of another job has it.
  const astray = eventsOf('astray', { project: 'astray' })
  await send(app, reporter, [
    astray('batch_start', 60, {
      experiment_type: 'run',
      n_total: 1,
      pid: 1,
      host: 'box',
      command: 'python train.py',
      cwd: '/work',
    }),
    astray('job_start', 60, { lr: 1 }, 'main'),
    ...sweep('tuned'),
    ...crashes('crashed'),
    ...[1, 2, 3, 4, 5].flatMap((n) => run(`lab-${n}`, 9000 - n, { lr: n / 100, project: 'lab' })),
    live('batch_start', 60, { experiment_type: 'run', n_total: 1 }),
    live('job_start', 60, { lr: 1, epochs: 100 }, 'main'),
    ...[0, 1, 2].map((epoch) => live('job_epoch', 50 - epoch, { epoch, loss: 1 / (epoch + 1) }, 'main')),
  ])
  for (const [i, lr] of [0.001, 0.01, 0.1].entries())
    await send(app, reporter, run(`run-${'abc'[i]}`, 4000 - i * 100, { lr }))
})

/** A job that takes at most so many clicks, choices in lists included. Typing and keys are free. */
function job(name: string, most: number, path: string, see: (page: Page) => Promise<void>): void {
  test(`${name}, in at most ${most} clicks`, async () => {
    const { page, context, complaints } = await web.asAda()
    const clicks: string[] = []
    await page.exposeFunction('counted', (what: string) => clicks.push(what))
    await page.addInitScript(() => {
      const count = (event: Event): void => {
        const at = event.target instanceof Element ? event.target : undefined
        const name = at?.closest('button, a, select, input')?.textContent ?? at?.tagName ?? ''
        const { counted } = window as unknown as { counted: (what: string) => void }
        if (event.type === 'pointerdown' || at instanceof HTMLSelectElement) counted(name.slice(0, 40))
      }
      addEventListener('pointerdown', count, true)
      addEventListener('change', count, true)
    })
    await page.goto(path)
    await see(page)
    expect(complaints).toEqual([])
    expect(clicks.length, clicks.join(' · ')).toBeLessThanOrEqual(most)
    await context.close()
  })
}
const chart = (page: Page, name: string) => page.locator(`[data-chart="${name}"]`)
const drawn = (page: Page, name: string) =>
  chart(page, name).locator('[data-points]', { hasText: 'points' }).waitFor()
const arranged = (page: Page, name: string) => page.locator(`[data-arranged="${name}"]`)
const namesOf = (page: Page) =>
  page.locator('[data-chart]').evaluateAll((all) => all.map((one) => one.getAttribute('data-chart')))

async function dragOnto(page: Page, from: string, to: string): Promise<void> {
  await page.getByRole('button', { name: `Move ${from}`, exact: true }).hover()
  await page.mouse.down()
  const box = await arranged(page, to).boundingBox()
  if (box === null) throw new Error(`${to} is not shown`)
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 6 })
  await page.mouse.up()
}

job('arrange a workspace and share it', 9, '/p/digits?charts=%7B%7D', async (page) => {
  await drawn(page, 'val/loss')
  expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual([
    'train1 chart',
    'val2 charts',
    'opt1 chart',
    'Your charts',
  ])
  await page.getByRole('button', { name: 'Arrange' }).click()
  await arranged(page, 'val/acc').waitFor()
  await dragOnto(page, 'val/acc', 'val/loss')
  await expect.poll(() => page.url()).toContain('layout')
  const order = () =>
    page.locator('[data-arranged]').evaluateAll((all) => all.map((one) => one.getAttribute('data-arranged')))
  await expect.poll(order).toEqual(['train/loss', 'val/acc', 'val/loss', 'opt/lr'])
  // By keyboard: lifted, moved to the section below, dropped.
  await page.getByRole('button', { name: 'Move train/loss', exact: true }).focus()
  await page.keyboard.press('Space')
  const said = page.getByRole('status').filter({ hasText: 'train/loss' })
  await said.waitFor({ state: 'attached' })
  await moveUntil(page, 'ArrowDown', said.filter({ hasText: /over droppable area val/ }))
  await page.keyboard.press('Space')
  await expect.poll(() => page.getByRole('region', { name: 'Section train' }).count()).toBe(0)
  await page.getByRole('button', { name: /^Resize val\/acc/ }).focus()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('button', { name: 'Resize val/acc: width 1 of 3, height 2 of 3' }).waitFor()
  await page.getByRole('button', { name: 'Hide opt/lr' }).click()
  await page.getByLabel('Title of the section val').fill('Quality')
  await page.keyboard.press('Enter')
  await page.getByLabel('Title of a new section').fill('For the paper')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Section For the paper' }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Views' }).click()
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByLabel('Name').fill('Quality first')
  await page.getByLabel('Who sees it').selectOption({ label: 'Everyone in the project' })
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  const bob: Account = { ...(await web.app.register('bob@example.org')), email: 'bob@example.org' }
  await web.app.letIn('digits', web.ada, bob, 'viewer')
  const other = await web.as(bob)
  await other.page.goto('/p/digits?charts=%7B%7D')
  await drawn(other.page, 'val/loss')
  await other.page.getByRole('button', { name: 'Views' }).click()
  await other.page.getByRole('button', { name: 'Quality first', exact: true }).click()
  await other.page.getByRole('button', { name: /^Quality\b.*3 charts/ }).waitFor()
  await expect.poll(() => namesOf(other.page)).toHaveLength(3)
  expect(await namesOf(other.page)).not.toContain('opt/lr')
  const [tall, usual] = await Promise.all(
    ['val/acc', 'val/loss'].map((name) => chart(other.page, name).locator('.u-wrap').boundingBox()),
  )
  expect((tall?.height ?? 0) - (usual?.height ?? 0)).toBeGreaterThan(100)
  expect(other.complaints).toEqual([])
  await other.context.close()
})

job('chart and tabulate a formula', 7, '/p/digits?charts=%7B%7D', async (page) => {
  await drawn(page, 'val/loss')
  await page.getByRole('button', { name: 'Formula', exact: true }).click()
  const field = page.getByRole('textbox', { name: 'Chart of a formula' })
  await field.fill('val/loss - train/los')
  await page.getByText('No run here reports train/los.').waitFor()
  await field.fill('ema(val/loss - train/loss, 1)')
  await page.getByText(/the second argument is a number, 0 to below 1/).waitFor()
  await field.fill('ema(val/loss - train/loss, 0.5)')
  expect(await seriousFindings(page)).toEqual([])
  await page.keyboard.press('Enter')
  const key = '=ema(val/loss - train/loss, 0.5)'
  await page.getByRole('button', { name: 'Formulas 1 chart' }).scrollIntoViewIfNeeded()
  await expect.poll(() => chart(page, key).locator('[data-points]').textContent()).toBe('30 of 30 points')
  await page.reload()
  await page.getByRole('button', { name: 'Formulas 1 chart' }).scrollIntoViewIfNeeded()
  await chart(page, key).waitFor()
  await page.getByRole('link', { name: 'Charts', exact: true }).click()
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByLabel('Find a column').fill('=min.val/loss - min.train/loss')
  await page.getByRole('button', { name: 'Add =min.val/loss - min.train/loss' }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('columnheader', { name: 'min.val/loss - min.train/loss' }).waitFor()
  const row = page.locator('[data-row]', { hasText: 'run-a' })
  await row.getByText('0.01', { exact: true }).waitFor()
})

job('chart columns of runs', 9, '/compare?batches=%5B"run-a","run-b","run-c"%5D', async (page) => {
  const add = page.getByRole('button', { name: 'Add chart' })
  await add.click()
  const custom = (kind: string) => page.locator(`[data-custom="${kind}"]`)
  await expect.poll(() => custom('bar').locator('[data-group]').count()).toBe(3)
  await custom('bar').getByLabel('Metric').selectOption('best.val/loss')
  await custom('bar').getByText('Mean ± standard error').waitFor()
  for (const kind of ['box', 'scatter', 'histogram', 'heat']) {
    await add.click()
    await custom(kind).locator('svg[role=img]').waitFor()
  }
  await custom('scatter').locator('[data-fit]').waitFor()
  await custom('scatter')
    .getByText(/slope .* on log scales, R² [01]/)
    .waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.reload()
  await custom('heat').locator('[data-cell]').first().waitFor()
  expect(await page.locator('[data-custom]').count()).toBe(5)
})

job('chart columns in a workspace', 3, '/p/digits?charts=%7B%7D', async (page) => {
  await drawn(page, 'val/loss')
  await page.getByRole('button', { name: 'Add chart' }).click()
  const bars = page.locator('[data-custom="bar"]')
  await expect.poll(() => bars.locator('[data-group]').count()).toBe(3)
  await bars.getByLabel('Kind of chart').selectOption('scatter')
  const scatter = page.locator('[data-custom="scatter"]')
  await scatter.locator('[data-fit]').waitFor()
  await expect.poll(() => page.url()).toContain('custom')
  await page.reload()
  await scatter.locator('[data-fit]').waitFor()
})

job('find the best run and its parameters', 2, '/b/tuned', async (page) => {
  await page
    .getByRole('navigation', { name: 'Views of the batch' })
    .getByRole('link', { name: 'Sweep' })
    .click()
  await page.getByRole('link', { name: 'j1', exact: true }).first().click()
  await page.getByRole('heading', { name: 'j1' }).waitFor()
  await page.getByText('0.01', { exact: true }).first().waitFor()
})

job('see why runs failed', 1, '/', async (page) => {
  await page.getByRole('link', { name: 'Show error: crashed' }).click()
  const failure = page.locator('[data-failure]').first()
  await failure.getByText('3 × the same error').waitFor()
  await failure
    .getByText(/CUDA out of memory/)
    .first()
    .waitFor()
})

job('tell which parameter matters', 0, '/b/tuned/sweep', async (page) => {
  await page.getByText(/The parameters explain \d+% of the differences between 24 jobs/).waitFor()
})

job('compare five runs', 6, '/p/lab', async (page) => {
  for (const n of [1, 2, 3, 4, 5]) await page.getByLabel(`Select lab-${n}`, { exact: true }).click()
  await page.getByRole('link', { name: 'Compare', exact: true }).click()
  await page.getByRole('heading', { name: 'Compare 5 jobs of 5 batches' }).waitFor()
  const differs = page.getByRole('region', { name: 'What differs' }).last()
  await differs.getByText('0.03', { exact: true }).waitFor()
})

job('read a spike', 0, '/b/tuned', async (page) => {
  await drawn(page, 'val_loss')
  const list = page.getByRole('complementary', { name: 'Jobs' })
  const over = await chart(page, 'val_loss').locator('.u-over').boundingBox()
  if (over === null) throw new Error('the plot has no place')
  await page.mouse.move(over.x + (over.width * 2) / 3, over.y + over.height / 2)
  await list.getByText('val_loss @ 2').waitFor()
  const row = list.getByRole('listitem').filter({ hasText: 'j4' })
  await expect.poll(() => row.innerText()).toContain('50.3')
})

job('group runs with bands', 1, '/b/tuned', async (page) => {
  await drawn(page, 'val_loss')
  await page.getByLabel('Group by').selectOption({ label: 'By lr' })
  await expect
    .poll(() => chart(page, 'val_loss').locator('[data-points]').textContent())
    .toBe('96 points, all counted')
})

job('ask for runs by parameter, metric and tag', 0, '/p/lab', async (page) => {
  await page.getByLabel('Search batches').fill('lr>0.02 min.val/loss<1 tag:fast')
  const listed = page.locator('[data-row] a[data-open]')
  await expect
    .poll(() => listed.allTextContents().then((all) => all.sort()))
    .toEqual(['lab-3', 'lab-4', 'lab-5'])
  await page.getByLabel('Search batches').fill('lr>0.02 NOT tag:fast')
  await expect
    .poll(() => listed.allTextContents().then((all) => all.sort()))
    .toEqual(['crashed', 'live', 'tuned'])
})

job('write a report for an outsider', 5, '/p/lab', async (page) => {
  await page.getByLabel('Select lab-1', { exact: true }).click()
  await page.getByRole('link', { name: 'Report', exact: true }).click()
  await page.getByLabel('Title').fill('For a reviewer')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByRole('button', { name: 'Make a link' }).click()
  const link = page.getByLabel('Link', { exact: true }).first()
  const [path = ''] = /\/sr\/[\w-]{32}/.exec(String(await link.textContent())) ?? []
  const visitor = await web.signedOut()
  await visitor.page.goto(path)
  await visitor.page.getByRole('heading', { name: 'For a reviewer' }).waitFor()
  await visitor.page.locator('[data-report] [data-points]').first().waitFor()
  expect(visitor.complaints).toEqual([])
  await visitor.context.close()
})

job('export a table', 2, `/b/tuned/jobs?sel=${encodeURIComponent('["j1","j2"]')}`, async (page) => {
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export' }).last().click()
  await page.getByRole('menuitem', { name: 'CSV file' }).click()
  expect((await download).suggestedFilename()).toBe('tuned-jobs.csv')
})

job('watch a live run, then end it', 2, '/b/live', async (page) => {
  const points = chart(page, 'loss').locator('[data-points]')
  await expect.poll(() => points.textContent()).toBe('3 of 3 points')
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await send(web.app, web.reporter, [eventsOf('live', LAB)('job_epoch', 0, { epoch: 3, loss: 0.2 }, 'main')])
  await expect.poll(() => points.textContent()).toBe('4 of 4 points')
  await page.getByRole('button', { name: 'Mark as ended' }).click()
  await page.getByLabel('Reason').fill('the host was switched off')
  await page.getByRole('button', { name: 'Mark as failed' }).click()
  await page.getByText('Marked as failed.').waitFor()
})

job('stop a run', 2, '/b/astray', async (page) => {
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByRole('button', { name: 'Stop it' }).click()
  await page.getByText('Stop requested.').waitFor()
  const { body } = await web.app.call('GET', '/api/batches/astray', { token: web.ada.token })
  expect(body.stop_requested).toBe(true)
})

job('see what a rerun would do', 2, '/b/crashed', async (page) => {
  await page.getByRole('button', { name: /^3 failed/ }).click()
  await page.getByRole('button', { name: 'Rerun 3 failed jobs' }).click()
  await page.getByRole('dialog', { name: /Rerun/ }).getByText('python train.py').first().waitFor()
})

job('make a rule with a preview', 4, '/p/lab/rules', async (page) => {
  await page.getByRole('button', { name: 'New rule' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Mail when').selectOption('job_failed')
  await form.getByText(/It would have mailed \d+ times? in the last 7 days/).waitFor()
  await form.getByRole('button', { name: 'Make the rule' }).click()
  await page.getByRole('list', { name: 'Rules of the project' }).getByRole('listitem').waitFor()
})

job('restore a deleted run', 3, '/b/lab-5', async (page) => {
  // A chart that is read after the deletion is answered with 404.
  await drawn(page, 'val/loss')
  await settled(page)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete it' }).click()
  await page.waitForURL('/p/lab')
  // Leaving the page earlier would end the request.
  await page.getByRole('button', { name: 'Undo' }).waitFor()
  await page.goto('/b/lab-5')
  await page.getByRole('button', { name: 'Restore it' }).click()
  await page.getByRole('heading', { name: 'lab-5' }).waitFor()
})

job('look up the API', 0, '/api/docs', async (page) => {
  await page.getByPlaceholder('Filter by tag or path').fill('jobs/metrics')
  await page.locator('.opblock[id$="-getJobsMetrics"]').waitFor()
})
