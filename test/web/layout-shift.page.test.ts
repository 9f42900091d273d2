import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, sendRanBatch } from './ran-batch.ts'
import { send } from './visit.ts'

// Answers come late and one after the other: nothing on the page may jump when they do.

/** Half of what the Web Vitals call good. */
const MAX_SHIFT = 0.05
const LATE_MS = 300
const GPUS = 8

const web = pageFixture(async ({ app, ada, reporter }) => {
  await sendRanBatch(app, reporter, 'night-sweep')
  const of = eventsOf('machine')
  await send(app, reporter, [
    of('batch_start', 1_000, { experiment_type: 'run', n_total: 1 }),
    of('job_start', 990, {}, 'main'),
    ...Array.from({ length: 20 }, (_, i) =>
      of(
        'resource_snapshot',
        980 - 30 * i,
        {
          cpu_util_pct: 40,
          gpus: Array.from({ length: GPUS }, (_, index) => ({ index, uuid: `GPU-${index}`, util_pct: 80 })),
        },
        'main',
      ),
    ),
  ])
  const halting = eventsOf('halting')
  await send(app, reporter, [
    halting('batch_start', 60, { experiment_type: 'run', n_total: 1 }),
    halting('job_start', 59, {}, 'main'),
    ...[0, 1, 2].map((epoch) => halting('job_epoch', 50, { epoch, val_loss: 1 / (epoch + 1) }, 'main')),
  ])
  await app.call('POST', '/api/batches/halting/stop', { token: ada.token })
  const quiet = eventsOf('quiet')
  await send(app, reporter, [
    quiet('batch_start', 60, { experiment_type: 'run', n_total: 1, tags: ['night', 'baseline'] }),
    quiet('job_start', 59, {}, 'main'),
    ...[0, 1, 2].map((epoch) => quiet('job_epoch', 50, { epoch, val_loss: 1 / (epoch + 1) }, 'main')),
  ])
})

const drawn = (page: Page) => page.locator('[data-points]', { hasText: 'points' }).first().waitFor()
const PHONE = 390
/** Longer than a phone is wide. */
const SIGN = 'Job main has reported no epoch since 10:02, and one usually takes it 12 s'
const SIGNS = [
  SIGN,
  'The agent on gpu-7 has been away since 10:01, and no event came: the process may still run there',
]
const warned = (page: Page) =>
  page.getByRole('region', { name: 'Liveness' }).getByText(SIGN).first().waitFor()
const PAGES: [string, string, (page: Page) => Promise<unknown>, width?: number][] = [
  ['Home', '/', (page) => page.getByText('Running now').waitFor()],
  ['a project', '/p/digits', (page) => page.getByRole('link', { name: 'night-sweep' }).first().waitFor()],
  ['a batch', '/b/night-sweep', drawn],
  ['a batch that is to stop, on a phone,', '/b/halting', drawn, PHONE],
  ['a batch whose ETA and signs of trouble come late', '/b/quiet', warned],
  ['a batch whose ETA and signs of trouble come late, in a narrow window,', '/b/quiet', warned, 1280],
  ['a batch whose signs of trouble come late, on a phone,', '/b/quiet', warned, PHONE],
  ['its jobs', '/b/night-sweep/jobs', (page) => page.locator('[data-job="good"]').waitFor()],
  ['a job', '/b/night-sweep/j/good', (page) => page.getByText('val_loss').first().waitFor()],
  ['resources', '/b/machine/resources', (page) => page.getByText('never idle').first().waitFor()],
]

test.each(
  PAGES,
)('%s does not move when late answers arrive (%s)', async (_name, path, whole, width = 1440) => {
  const { page, context } = await web.asAda({ width })
  await page.addInitScript(() => {
    const seen = { shift: 0 }
    Object.assign(globalThis, { seen })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as { value: number; hadRecentInput: boolean }[])
        if (!entry.hadRecentInput) seen.shift += entry.value
    }).observe({ type: 'layout-shift', buffered: true })
  })
  await page.route(/\/api\/(?!.*stream)/, async (route) => {
    await new Promise((done) => setTimeout(done, LATE_MS))
    // The page may have gone meanwhile.
    await route.continue().catch(() => undefined)
  })
  await page.route('/graphql', async (route) => {
    const response = await route.fetch().catch(() => undefined)
    if (response === undefined) return
    const json = await response.json()
    const { health, eta } = json.data?.batch ?? {}
    if (path === '/b/quiet' && eta) Object.assign(eta, { etaS: 3_600, lowS: 3_000, highS: 4_200 })
    if (path === '/b/quiet' && health) health.reasons = SIGNS
    // After everything else that the page shows.
    if (path === '/b/quiet' && (health || eta)) await drawn(page)
    await new Promise((done) => setTimeout(done, LATE_MS))
    await route.fulfill({ response, json }).catch(() => undefined)
  })
  await page.goto(path)
  await whole(page)
  await page.waitForLoadState('load')
  // The browser reports a shift after the frame that drew it.
  const shift = await page.evaluate(async () => {
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame)
    await new Promise((done) => setTimeout(done))
    return (globalThis as unknown as { seen: { shift: number } }).seen.shift
  })
  expect(shift).toBeLessThan(MAX_SHIFT)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.close()
})

test('the space that is kept for the range of an ETA leaves no gap between the facts of a batch', async () => {
  const { page, context } = await web.asAda({ width: 2560 })
  await page.route('/graphql', async (route) => {
    const response = await route.fetch()
    const json = await response.json()
    if (json.data?.batch?.eta) Object.assign(json.data.batch.eta, { etaS: 3_600, lowS: null, highS: null })
    await route.fulfill({ response, json })
  })
  await page.goto('/b/quiet')
  await drawn(page)
  const facts = page.locator('dl', { hasText: 'ETA' })
  // From the end of each text to the next fact of its line.
  const gaps = await facts.evaluate((list) => {
    const edges = [...list.children].map((fact) => {
      const { left, top } = fact.getBoundingClientRect()
      const right = Math.max(
        ...[...fact.querySelectorAll('dd *, dd')]
          .filter((one) => one.tagName === 'BUTTON' || one.children.length === 0)
          .map((one) => one.getBoundingClientRect().right),
      )
      return { left, top, right }
    })
    const inOrder = edges.sort((a, b) => a.top - b.top || a.left - b.left)
    return inOrder.slice(1).flatMap((fact, i) => {
      const before = inOrder[i]
      return before === undefined || Math.abs(before.top - fact.top) > 8 ? [] : fact.left - before.right
    })
  })
  expect(gaps.length).toBeGreaterThan(3)
  expect(Math.max(...gaps)).toBeLessThan(32)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.close()
})
