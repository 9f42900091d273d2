import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { type Event, send, seriousFindings } from './visit.ts'

// A machine with eight GPUs, as the reporter samples it.

const SAMPLES = 20
const GPUS = 8

/** The uuids sort the other way than the indexes. */
const uuidOf = (index: number): string => `GPU-${9 - index}f3c`
const sample = (agoS: number): Event =>
  eventsOf('machine')(
    'resource_snapshot',
    agoS,
    {
      cpu_util_pct: 40,
      gpus: Array.from({ length: GPUS }, (_, index) => ({
        index,
        uuid: uuidOf(index),
        name: 'A100',
        util_pct: 80 + index,
        mem_mb: 1024 * (10 + index),
        mem_total_mb: 81_920,
        temp_c: 60 + index,
        power_w: 300 + index,
      })),
    },
    'main',
  )

const web = pageFixture(async ({ app, reporter }) => {
  const of = eventsOf('machine')
  await send(app, reporter, [
    of('batch_start', 1_000, { experiment_type: 'run', n_total: 1 }),
    of('job_start', 990, {}, 'main'),
    ...Array.from({ length: SAMPLES }, (_, i) => sample(980 - 30 * i)),
  ])
})

test.each([
  ['light', 1440],
  ['dark', 390],
] as const)('eight GPUs are eight curves in the chart of each measure, %s at %i px', async (theme, width) => {
  const { page, context, complaints } = await web.asAda({ theme, width })
  await page.goto('/b/machine/resources')
  const gpus = page.getByRole('region', { name: 'GPUs', exact: true })
  const memory = gpus.locator('[data-chart="GPU memory"]')
  // Content that loads above moves the charts, and those outside of the viewport are only placeholders.
  await page.getByRole('region', { name: 'Idle GPUs' }).getByText('never idle').first().waitFor()
  await gpus.scrollIntoViewIfNeeded()
  await expect
    .poll(async () => {
      await gpus.evaluate((section) => section.scrollIntoView({ block: 'start' }))
      return memory.count()
    })
    .toBe(1)
  const all = GPUS * SAMPLES
  await memory.locator('[data-points]', { hasText: `${all} of ${all} points` }).waitFor()
  const names = Array.from({ length: GPUS }, (_, i) => `GPU ${i}`)
  expect(await gpus.getByRole('list', { name: 'GPUs' }).getByRole('listitem').allTextContents()).toEqual(
    names,
  )
  await page.getByRole('button', { name: 'Menu of GPU memory' }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Save as SVG' }).click(),
  ])
  const drawing = readFileSync(await file.path(), 'utf8')
  // In GiB; the axis ends at the total memory.
  for (const text of [...names, 'GPU memory', 'GiB of 80', 'time', '80', '0'])
    expect(drawing).toContain(`>${text}<`)
  expect(drawing.match(/<path /g)).toHaveLength(GPUS)
  const charts = () =>
    gpus.locator('[data-chart]').evaluateAll((some) => some.map((one) => one.getAttribute('data-chart')))
  const power = gpus.locator('[data-chart="GPU power"]')
  await gpus.evaluate((section) => section.scrollIntoView({ block: 'end' }))
  await power.waitFor()
  if (width === 1440)
    expect(await charts()).toEqual(['GPU utilisation', 'GPU memory', 'GPU temperature', 'GPU power'])
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await power.locator('[data-points]', { hasText: `${all} of ${all} points` }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a new sample extends the curve of each GPU', async () => {
  const { page, context } = await web.asAda({ width: 1440 })
  await page.goto('/b/machine/resources')
  const memory = page.locator('[data-chart="GPU memory"]')
  const n = GPUS * SAMPLES
  await memory.locator('[data-points]', { hasText: `${n} of ${n} points` }).waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await send(web.app, web.reporter, [sample(0)])
  await memory.locator('[data-points]', { hasText: `${n + GPUS} of ${n + GPUS} points` }).waitFor()
  const box = await memory.locator('.u-over').boundingBox()
  if (box === null) throw new Error('the plot has no place')
  await page.mouse.move(box.x + box.width - 3, box.y + box.height / 2)
  const tip = page.locator('[data-tip="GPU memory"]')
  await tip.getByText('GPU 7', { exact: true }).waitFor()
  // Greatest first: 17 GiB down to 10.
  await expect
    .poll(() => tip.locator('.text-right').allTextContents())
    .toEqual(Array.from({ length: GPUS }, (_, i) => `${17 - i} GiB`))
  await context.close()
})
