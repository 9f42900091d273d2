import type { Locator, Page } from '@playwright/test'
import { describe, expect, test } from 'vitest'
import { orderJobs } from '../../web/src/charts/job-order.ts'
import { strongAmong } from '../../web/src/charts/use-strong.ts'
import { pointAt } from '../../web/src/lib/charts/line.ts'
import { errorOf, failuresTitle, groupFailures, placeOf } from '../../web/src/lib/traceback.ts'
import { ago, duration, etaText } from '../../web/src/lib/words.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { type Event, send, seriousFindings } from './visit.ts'

const BATCH = 'failing-sweep'
const memory = (mib: number): string =>
  `Traceback (most recent call last):
  File "/home/ada/train.py", line 210, in <module>
    main()
  File "/home/ada/train.py", line 143, in forward
    y = layer(x)
  File "/usr/lib/python3.12/site-packages/torch/nn/functional.py", line 2460, in linear
    return torch._C._nn.linear(input, weight, bias)
RuntimeError: CUDA out of memory. Tried to allocate ${mib} MiB`
const SHAPE = `Traceback (most recent call last):
  File "/home/ada/data.py", line 12, in load
    raise ValueError("bad shape")
ValueError: bad shape`

const web = pageFixture(async ({ app, reporter }) => {
  const of = eventsOf(BATCH)
  const jobs = ['short', 'm1', 'm2', 'm3', 'shape', 'long']
  const epochs = (job: string, n: number, loss: number): Event[] =>
    Array.from({ length: n }, (_, epoch) =>
      of('job_epoch', 3000 - epoch * 10, { epoch, val_loss: loss / (epoch + 1) }, job),
    )
  await send(app, reporter, [
    of('batch_start', 3600, { experiment_type: 'sweep', n_total: jobs.length }),
    ...jobs.map((job, i) => of('job_start', 3590, { lr: i + 1 }, job)),
    ...epochs('short', 5, 1),
    ...epochs('long', 40, 2),
    of('log_line', 2500, { line: 'step 80: 79.1 GiB in use', level: 'error', stream: 'stderr' }, 'm1'),
    ...['m1', 'm2', 'm3'].map((job, i) =>
      of('job_failed', 2400, { reason: 'CUDA out of memory', traceback: memory(20 + i) }, job),
    ),
    of('job_failed', 2400, { reason: 'bad shape', traceback: SHAPE }, 'shape'),
    of('job_done', 2400, {}, 'short'),
    of('job_done', 2400, {}, 'long'),
    of('batch_failed', 2300, { reason: 'four jobs failed' }),
  ])
})

async function onPage(width: number, path: string, see: (page: Page) => Promise<void>): Promise<void> {
  const { page, context, complaints } = await web.asAda({ width })
  await page.goto(path)
  await see(page)
  expect(complaints).toEqual([])
  await context.close()
}

describe('a traceback', () => {
  test('names the line in the code of the project, and the exception', () => {
    expect(placeOf(memory(20))).toEqual({ file: '/home/ada/train.py', line: 143, call: 'forward' })
    expect(errorOf(memory(20))).toBe('RuntimeError: CUDA out of memory. Tried to allocate 20 MiB')
    expect(errorOf(`${SHAPE}\n`)).toBe('ValueError: bad shape')
  })
  test('with other numbers is the same failure, at another place it is a different one', () => {
    const job = (id: string, traceback: string) => ({ id, status: 'failed', failure_reason: null, traceback })
    const groups = groupFailures([
      job('a', SHAPE),
      job('b', memory(1)),
      job('c', memory(2)),
      job('d', memory(3).replace('line 143', 'line 150')),
      { id: 'e', status: 'completed', failure_reason: null, traceback: null },
    ])
    expect(groups.map((group) => group.jobs.map(({ id }) => id))).toEqual([['b', 'c'], ['a'], ['d']])
  })
})

test('failures are named by their commonest causes, the others are counted', () => {
  const group = (error: string, n: number) => ({ error, jobs: Array(n).fill(null) })
  expect(
    failuresTitle(
      [
        group('RuntimeError: CUDA out of memory. Tried to allocate 2 GiB', 8),
        group('loss is NaN', 7),
        group('torch.cuda.OutOfMemoryError: out of memory', 4),
        group('ValueError: bad shape', 3),
        group('KeyError: 1', 1),
      ],
      undefined,
    ),
  ).toBe('23 failed: 12 × out of memory, 7 × NaN, 4 × other')
  expect(failuresTitle([group('KeyError: 1', 2)], 'KeyError: 1')).toBe('2 failed: KeyError')
  expect(failuresTitle([], 'the launcher gave up')).toBe('the launcher gave up')
})

test('a curve has a point at a place within half a step of one of its own, and none beyond its ends', () => {
  const steps = [0, 10, 20]
  expect([-6, -5, 4, 6, 24, 25, 26].map((x) => pointAt(steps, x, 0.1))).toEqual([-1, 0, 0, 1, 2, 2, -1])
  expect(pointAt([5], 5.05, 0.1)).toBe(0)
  expect(pointAt([5], 6, 0.1)).toBe(-1)
  expect(pointAt([], 6, 0.1)).toBe(-1)
})

test('jobs are sorted by a value, those without one last', () => {
  const losses: Record<string, number | 'NaN' | null> = { a: 3, b: 1, c: 'NaN', d: null, e: 2 }
  const jobOf = (id: string) => ({ latest: { val_loss: losses[id] }, params: {} }) as never
  expect(orderJobs(Object.keys(losses), jobOf, 'last.val_loss')).toEqual(['b', 'e', 'a', 'c', 'd'])
  expect(orderJobs(Object.keys(losses), jobOf, '-last.val_loss')).toEqual(['a', 'e', 'b', 'c', 'd'])
})

test('of many curves the best tenth stands out, or the selection', () => {
  const jobs = Array.from({ length: 30 }, (_, i) => ({ id: `j${i}`, best: { val_acc: i / 30 }, latest: {} }))
  const store = { get: (id: string) => jobs.find((job) => job.id === id) } as never
  const drawn = jobs.map(({ id }) => id)
  expect(strongAmong(store, drawn, new Set())).toEqual(['j29', 'j28', 'j27'])
  expect(strongAmong(store, drawn, new Set(['j3', 'elsewhere']))).toEqual(['j3'])
})

test('Home lists failures first; one click shows the traceback; a dismissed problem stays hidden', () =>
  onPage(1440, '/', async (page) => {
    await page.getByRole('heading', { name: /Needs attention/ }).waitFor()
    const headings = await page.getByRole('heading', { level: 2 }).allTextContents()
    expect(headings[0]).toMatch(/^Needs attention/)
    await page.getByRole('link', { name: `Show error: ${BATCH}` }).click()
    const group = page.locator('[data-failure]').first()
    await group.getByText('3 × the same error').waitFor()
    await group.getByText('train.py:143 in forward').first().waitFor()
    await group.locator('[data-place]', { hasText: 'line 143' }).waitFor()
    await group.getByText('step 80: 79.1 GiB in use').waitFor()
    await page.goto('/')
    await page.getByRole('button', { name: `Dismiss: ${BATCH}, failed` }).click()
    await page.getByText('1 problem dismissed').waitFor()
    expect(await page.locator('[data-need=failed]').count()).toBe(0)
    await page.reload()
    await page.getByText('1 problem dismissed').waitFor()
    await page.getByRole('button', { name: 'Show again' }).click()
    await page.getByRole('button', { name: `Dismiss: ${BATCH}, failed` }).waitFor()
  }))

test('failed jobs of a batch are grouped by their error with counts, on every tab', () =>
  onPage(1440, `/b/${BATCH}/jobs`, async (page) => {
    const groups = page.locator('[data-failure]')
    expect(await groups.count()).toBe(0)
    await page.getByRole('button', { name: '4 failed: 3 × out of memory, 1 × ValueError' }).click()
    await expect.poll(() => groups.count()).toBe(2)
    await page.getByRole('button', { name: 'Rerun 4 failed jobs' }).click()
    await page.getByRole('dialog', { name: /Rerun/ }).getByRole('button', { name: 'Cancel' }).click()
    expect(await groups.first().textContent()).toContain('RuntimeError: CUDA out of memory')
    await groups.nth(1).getByRole('button').click()
    await groups.nth(1).getByText('raise ValueError("bad shape")').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await groups.nth(1).getByRole('link', { name: 'shape' }).click()
    await page.waitForURL(`/b/${BATCH}/j/shape`)
    await page.getByRole('region', { name: 'Traceback of shape' }).waitFor()
  }))

test('hovering a chart writes the values at that step into the list, and nothing covers the curves', () =>
  onPage(1440, `/b/${BATCH}?series=val_loss`, async (page) => {
    const chart = page.locator('[data-chart="val_loss"]')
    await chart.locator('[data-points]', { hasText: 'points' }).waitFor()
    const list = page.getByRole('complementary', { name: 'Jobs' })
    const at = (share: number) => hoverChart(page, chart, share)
    // Of 40 epochs the short job has five.
    await at(0.8)
    await list.getByText('val_loss @ 31').waitFor()
    const row = (job: string) => list.getByRole('listitem').filter({ hasText: job })
    expect(await row('long').innerText()).toContain('0.0625')
    expect(await row('short').innerText()).toContain('–')
    await at(0.05)
    await list.getByText('val_loss @ 2').waitFor()
    expect(await row('short').innerText()).toContain('0.3333')
    expect(await page.locator('[data-tip="val_loss"]').isVisible()).toBe(false)
    await page.mouse.move(1, 1)
    await list.locator('[data-list-head]').getByText('last.val_loss').waitFor()
  }))

test('on a phone a tooltip lists the curves with a point there, and does not cover the chart', () =>
  onPage(390, `/b/${BATCH}?series=val_loss`, async (page) => {
    const chart = page.locator('[data-chart="val_loss"]')
    await chart.locator('[data-points]', { hasText: 'points' }).waitFor()
    const tip = page.locator('[data-tip="val_loss"]')
    await expect
      .poll(async () => {
        await hoverChart(page, chart, 0.8)
        return tip.isVisible()
      })
      .toBe(true)
    expect(await tip.innerText()).toContain('long')
    expect(await tip.innerText()).not.toContain('short')
    const [box, over] = [await tip.boundingBox(), await chart.locator('.u-over').boundingBox()]
    if (box === null || over === null) throw new Error('the tooltip has no place')
    expect(box.x).toBeGreaterThanOrEqual(0)
    expect(box.x + box.width).toBeLessThanOrEqual(390)
    expect(box.y + box.height).toBeLessThanOrEqual(900)
    expect(box.y >= over.y + over.height || box.y + box.height <= over.y).toBe(true)
  }))

async function hoverChart(page: Page, chart: Locator, share: number): Promise<void> {
  const over = await chart.locator('.u-over').boundingBox()
  if (over === null) throw new Error('the chart has no plot')
  await page.mouse.move(over.x + over.width * share, over.y + over.height / 2)
}

test('the top jobs by a metric are drawn and listed, and the address keeps the choice', () =>
  onPage(1440, `/b/${BATCH}`, async (page) => {
    await page.locator('[data-chart="val_loss"] [data-points]', { hasText: 'points' }).waitFor()
    await page.getByLabel('Jobs drawn first').selectOption('last.val_loss')
    await page.getByLabel('Number of jobs drawn').fill('1')
    await page.locator('[data-cap]', { hasText: 'The top 1 of 6 jobs by val_loss are drawn' }).waitFor()
    const legend = page.getByRole('complementary', { name: 'Jobs' })
    expect(await legend.getByRole('listitem').allTextContents()).toHaveLength(1)
    await legend.getByRole('button', { name: 'long', exact: true }).waitFor()
    expect(decodeURIComponent(page.url())).toContain('by=last.val_loss')
    await page.getByRole('button', { name: 'Lowest first' }).click()
    await legend.getByRole('button', { name: 'short', exact: true }).waitFor()
  }))

test('jobs are found by a query, which explains what it cannot read and stands in the address', () =>
  onPage(1440, `/b/${BATCH}/jobs`, async (page) => {
    const table = page.getByRole('table', { name: 'Jobs' })
    const shown = () =>
      table.locator('[data-job]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-job')))
    await page.getByLabel('Find jobs').fill('lr>=2 status:failed')
    await expect.poll(shown).toEqual(['m1', 'm2', 'm3', 'shape'])
    expect(decodeURIComponent(page.url())).toContain('lr>=2')
    await page.getByLabel('Find jobs').fill('val_loss<0.1')
    await expect.poll(shown).toEqual(['long'])
    await page.getByLabel('Find jobs').fill('val_los<0.1')
    await page.getByText('No job has val_los: did you mean val_loss?').waitFor()
    expect(await seriousFindings(page)).toEqual([])
  }))

test('name and status stay visible when a table is scrolled sideways', async () => {
  await onPage(390, `/b/${BATCH}/jobs`, async (page) => {
    const table = page.getByRole('table', { name: 'Jobs' })
    await table.locator('[data-job="long"]').waitFor()
    await table.evaluate((box) => box.scrollTo(400, 0))
    const name = await table.locator('[data-job="long"] .job-name').boundingBox()
    const status = await table.locator('[data-job="long"] .job-status').boundingBox()
    const box = await table.boundingBox()
    await expect
      .poll(async () =>
        Math.round((await table.locator('[data-job="long"] .job-name').boundingBox())?.x ?? -1),
      )
      .toBe(Math.round(box?.x ?? 0))
    expect(name?.width).toBeGreaterThan(0)
    expect(status?.x).toBeLessThan((box?.x ?? 0) + (box?.width ?? 0))
  })
})

test('a batch that failed with the same error as its jobs shows it once; another reason is shown above their errors', async () => {
  for (const [batch, reason] of [
    ['one-error', 'ValueError: bad shape'],
    ['two-reasons', 'the launcher gave up'],
  ] as const) {
    const of = eventsOf(batch)
    await send(web.app, web.reporter, [
      of('batch_start', 3600, { experiment_type: 'sweep', n_total: 1 }),
      of('job_start', 3590, {}, 'shape'),
      of('job_failed', 2400, { reason: 'bad shape', traceback: SHAPE }, 'shape'),
      of('batch_failed', 2300, { reason }),
    ])
    await onPage(1440, `/b/${batch}`, async (page) => {
      await page.locator('[data-failures]').click()
      const failures = page.getByRole('region', { name: 'Failures' })
      await failures.locator('[data-failure]').waitFor()
      expect(await failures.getByText('ValueError: bad shape').count()).toBe(1)
      expect(await failures.getByText(reason).count()).toBe(1)
    })
  }
})

test('a failed run shows its reason once, on its own page and on that of its job', async () => {
  const of = eventsOf('one-run')
  await send(web.app, web.reporter, [
    of('batch_start', 3600, { experiment_type: 'run', n_total: 1 }),
    of('job_start', 3590, {}, 'main'),
    of('job_failed', 2400, { reason: 'bad shape', traceback: SHAPE }, 'main'),
    of('batch_failed', 2300, { reason: 'bad shape', traceback: SHAPE }),
  ])
  for (const [path, traceback] of [
    ['/b/one-run', 'Traceback of one-run'],
    ['/b/one-run/j/main', 'Traceback of main'],
  ] as const)
    await onPage(1440, path, async (page) => {
      if (path === '/b/one-run') await page.getByRole('button', { name: 'ValueError: bad shape' }).click()
      const chip = await page.locator('[data-failures]').count()
      await page.getByRole('region', { name: traceback }).getByText('ValueError: bad shape').waitFor()
      // The line that raised it, and what it raised.
      expect(await page.getByText('bad shape').count()).toBe(2 + chip)
      expect(await page.locator('[data-failure]').count()).toBe(0)
    })
})

test('a failed job without a traceback shows that none was reported', async () => {
  const of = eventsOf('untraced')
  await send(web.app, web.reporter, [
    of('batch_start', 3600, { experiment_type: 'sweep', n_total: 1 }),
    of('job_start', 3590, {}, 'killed'),
    of('job_failed', 2400, { reason: 'killed by SIGKILL' }, 'killed'),
  ])
  await onPage(1440, '/b/untraced/jobs', async (page) => {
    await page.getByRole('button', { name: '1 failed: killed' }).click()
    await page.locator('[data-failure]').getByRole('button').click()
    await page.getByText('No traceback was reported.').waitFor()
  })
})

test('a duration and an age stay on one line', () => {
  const now = Date.parse('2026-01-15T14:00:00Z')
  const texts = [4, 42, 600, 11_520, 180_000].map(duration)
  expect(texts.map((text) => text.replaceAll('\u00a0', ' '))).toEqual([
    '4 s',
    '42 s',
    '10 min',
    '3 h 12 min',
    '2 d 2 h',
  ])
  const ages = ['13:48', '10:00'].map((time) => ago(`2026-01-15T${time}:00Z`, now))
  expect([...texts, ...ages].join('')).not.toContain(' ')
})

test('an ETA has its range if that is wider than a minute', () => {
  const at = Math.ceil(Date.now() / 60_000) * 60_000
  const within = etaText({ eta_s: 600, low_s: 600, high_s: 610 }, at)
  expect(within).toMatch(/^≈ \S+$/)
  expect(etaText({ eta_s: 600, low_s: 300, high_s: 900 }, at)).toMatch(/^≈ \S+ \(\S+–\S+\)$/)
  const day = 86_400
  const days = etaText({ eta_s: 2 * day, low_s: 600, high_s: 9 * day }, at)
  expect(days).toMatch(/^≈ [A-Z]\w+ .+ \([A-Z]\w+ .+–[A-Z]\w+ .+\)$/)
})

test('a share shows failures and tracebacks; an anonymous one only the errors, and says that it hides the rest', async () => {
  const open = async (anonymous: boolean) => {
    const { body } = await web.app.call('POST', `/api/batches/${BATCH}/shares`, {
      token: web.ada.token,
      body: { anonymous },
    })
    const visit = await web.signedOut({ width: 1440 })
    await visit.page.goto(new URL(body.url).pathname)
    await visit.page.locator('[data-failures]').click()
    const group = visit.page.locator('[data-failure]').first()
    await group.getByText('3 × the same error').waitFor()
    await group.getByRole('button').click()
    await group.getByText('3 jobs:').waitFor()
    return { ...visit, group }
  }
  const whole = await open(false)
  await whole.group.locator('[data-place]', { hasText: 'line 143' }).waitFor()
  expect(await whole.group.getByRole('link').count()).toBe(0)
  expect(await seriousFindings(whole.page)).toEqual([])
  const anonymous = await open(true)
  await anonymous.group.getByText('This link hides tracebacks.').waitFor()
  expect(await anonymous.page.content()).not.toContain('train.py')
  expect([...whole.complaints, ...anonymous.complaints]).toEqual([])
  await whole.context.close()
  await anonymous.context.close()
})

test('Home shows equal failures as one row, whose problems keep their actions, and dismisses them together', async () => {
  const projects = ['twice', 'again', 'third'].map((id) => eventsOf(`oom-${id}`))
  for (const [i, of] of projects.entries())
    await send(web.app, web.reporter, [
      of('batch_start', 3600, { experiment_type: 'run', n_total: 1 }),
      of('batch_failed', 2000 - i, { reason: `CUDA out of memory. Tried to allocate ${i + 2}.00 MiB` }),
    ])
  await onPage(1440, '/', async (page) => {
    const attention = page.locator('section', { has: page.getByRole('heading', { name: /Needs attention/ }) })
    const group = attention.locator('[data-need]', { hasText: '3 × the same error' })
    // The newest of them says what happened.
    await group.getByText('Tried to allocate 4.00 MiB').waitFor()
    const one = attention.getByRole('link', { name: 'oom-twice', exact: true })
    expect(await one.count()).toBe(0)
    const opener = group.getByRole('button', { name: '3 × the same error', exact: true })
    for (let i = 0; i < 9 && !(await opener.evaluate((at) => at === document.activeElement)); i++)
      await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await one.waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await one.click()
    await page.waitForURL('/b/oom-twice')
    // What was open still is.
    await page.goBack()
    await attention.getByRole('button', { name: 'Dismiss: oom-twice, failed' }).click()
    await attention.getByText('2 × the same error').waitFor()
    await attention.getByRole('button', { name: 'Dismiss: 2 × the same error, failed' }).click()
    await attention.getByText('3 problems dismissed').waitFor()
    await page.getByRole('button', { name: 'Show again' }).click()
    await attention.getByRole('link', { name: 'Show error: 3 × the same error' }).click()
    await page.waitForURL('/b/oom-third#failures')
  })
})
