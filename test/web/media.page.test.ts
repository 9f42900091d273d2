import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { declaration, patch, putFile } from '../files/sending-files.ts'
import { histogram, json, mask, mediaValue, rings, type Sample, sample, table, wav } from './media-samples.ts'
import { sendOther } from './other-media.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { type Event, moveUntil, send, seriousFindings } from './visit.ts'

const BATCH = 'pictures'
const JOBS = ['seed0', 'seed1', 'seed2']
const STEPS = [0, 5, 10]
const HOSTILE = '<img src=x onerror="document.title=1">'
const MASK = mask()
const PLOT = {
  plot: 'confusion_matrix',
  labels: ['cat', HOSTILE],
  matrix: [
    [9, 1],
    [2, 8],
  ],
}
const ROC = { plot: 'roc_curve', curves: [{ name: 'cat', x: [0, 0.2, 1], y: [0, 0.9, 1], area: 0.85 }] }

const web = pageFixture(async ({ app, reporter }) => {
  const of = eventsOf(BATCH)
  const put = (one: Sample, path = `media/${one.sha256.slice(0, 16)}`) =>
    putFile(app, { token: reporter, batch: BATCH }, path, one.bytes, { media_type: one.media_type })
  await send(app, reporter, [
    of('batch_start', 100, { n_total: JOBS.length }),
    ...JOBS.map((job) => of('job_start', 99, {}, job)),
  ])
  const stored: Sample[] = [MASK]
  const kept = (one: Sample): Sample => {
    stored.push(one)
    return one
  }
  const events: Event[] = []
  for (const [i, step] of STEPS.entries())
    for (const [j, job] of JOBS.entries()) {
      // The third job has pictures at the first step only.
      const images = j < 2 || i === 0
      const first = mediaValue('image', kept(rings(10 * i + j)), {
        caption: `${job} at ${step} ${HOSTILE}`,
        boxes: { found: [{ x: 8, y: 8, width: 24, height: 20, label: 'cell', score: 0.9 }] },
        masks: { areas: { ...mediaValue('image', MASK), class_labels: { 1: 'cell' } } },
        width: 64,
        height: 64,
      })
      const late = mediaValue('image', rings(100 + 10 * i + j))
      const once = j === 0 && i === 2
      events.push(
        of(
          'job_epoch',
          90 - step,
          {
            epoch: step,
            val_loss: 1 / (step + 1),
            weights: histogram(i - 1, 0.5 + j),
            ...(images && { samples: [first, late] }),
            ...(once && {
              pred: mediaValue('table', kept(table(100_000))),
              notes: mediaValue('text', kept(sample(`said ${HOSTILE}`, 'text/plain'))),
              sound: mediaValue('audio', kept(wav(440)), { caption: 'a sine' }),
              page: mediaValue('html', kept(sample('<h1>Report</h1>', 'text/html'))),
              confusion: mediaValue('plot', kept(json(PLOT))),
              roc: mediaValue('plot', kept(json(ROC))),
            }),
          },
          job,
        ),
      )
    }
  for (const one of stored)
    await put(one, `media/${one.sha256.slice(0, 16)}${one.media_type === 'text/html' ? '.html' : ''}`)
  await send(app, reporter, events)
})

const open = async (path: string, look = {}) => {
  const one = await web.asAda(look)
  await one.page.goto(path)
  return one
}
const card = (page: Page, key: string) => page.locator(`[data-media="${key}"]`)
const picture = (page: Page, job: string) =>
  card(page, 'samples').locator(`[data-media-job="${job}"] [data-image="0"] img`)
const isLoaded = (page: Page, job: string) =>
  expect
    .poll(() => picture(page, job).evaluate((at: HTMLImageElement) => at.complete && at.naturalWidth))
    .toBe(64)

test('one slider moves all images, and an empty step shows no old ones', async () => {
  const { page, context, complaints } = await open(`/b/${BATCH}`)
  await page.getByRole('link', { name: 'Media' }).click()
  await isLoaded(page, 'seed0')
  expect(await picture(page, 'seed0').getAttribute('alt')).toBe(
    `seed0 at 10 ${HOSTILE}, seed0, epoch 10, 1 of 2`,
  )
  expect(await page.locator('[data-not-uploaded]').count()).toBe(2)
  const samples = card(page, 'samples')
  await samples.getByText('Nothing at epoch 10 from 1 other job.').waitFor()
  const slider = page.getByRole('slider', { name: 'The epoch of all media' })
  await slider.press('Home')
  await page.waitForURL(/step=0/)
  await isLoaded(page, 'seed2')
  // Focus among the cards: the arrow keys do the same.
  await samples.locator('[data-media-job="seed2"] [data-image="0"]').focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForURL(/step=5/)
  await samples.locator('[data-media-job="seed2"]').getByText('Nothing at epoch 5').waitFor()
  await card(page, 'notes').scrollIntoViewIfNeeded()
  await card(page, 'notes').getByText('Nothing at epoch 5.').waitFor()
  await card(page, 'notes').getByRole('button', { name: 'After: epoch 10' }).click()
  await page.waitForURL((url) => !url.search.includes('step'))
  // A card that is freed keeps its step.
  await samples.getByRole('button', { name: 'samples follows the step of the page' }).click()
  await slider.press('Home')
  await card(page, 'notes').getByText('Nothing at epoch 0.').waitFor()
  expect(await picture(page, 'seed0').getAttribute('alt')).toContain('seed0 at 10')
  expect(complaints).toEqual([])
  await context.close()
})

test('boxes and masks are layers, and the large view zooms and compares', async () => {
  const { page, context, complaints } = await open(`/b/${BATCH}/media?series=samples`)
  await isLoaded(page, 'seed0')
  const samples = card(page, 'samples')
  await expect.poll(() => samples.locator('svg rect').count()).toBe(2)
  await samples.getByRole('button', { name: 'found' }).click()
  await expect.poll(() => samples.locator('svg rect').count()).toBe(0)
  const covered = () =>
    samples
      .locator('canvas')
      .first()
      .evaluate((at: HTMLCanvasElement) => {
        const { data } = at.getContext('2d')?.getImageData(0, 0, at.width, at.height) ?? { data: [] }
        return data.filter((_, i) => i % 4 === 3 && data[i] === 255).length
      })
  await expect.poll(covered).toBeGreaterThan(300)
  await samples.locator('[data-image]').first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 of 2').waitFor()
  const zoom = dialog.locator('[data-zoom]')
  await zoom.hover()
  await page.mouse.wheel(0, -300)
  await expect.poll(async () => Number(await zoom.getAttribute('data-zoom'))).toBeGreaterThan(1.5)
  await page.keyboard.press('0')
  await expect.poll(() => zoom.getAttribute('data-zoom')).toBe('1.00')
  await page.keyboard.press('ArrowRight')
  await dialog.getByRole('heading', { name: 'samples of seed1' }).waitFor()
  await dialog.getByLabel('Compare with').selectOption({ label: 'epoch 5' })
  await dialog.getByText('seed1, epoch 5').waitFor()
  expect(await dialog.locator('img').count()).toBe(2)
  await dialog.getByLabel('How to compare').selectOption('difference')
  await dialog.locator('[data-difference]').waitFor()
  await dialog.getByLabel('How to compare').selectOption('slider')
  await dialog.getByRole('slider', { name: 'Share of the first image' }).fill('20')
  expect(await seriousFindings(page)).toEqual([])
  // The link opens the same image, compared with the same step.
  await page.waitForURL(/slider/)
  await page.reload()
  await dialog.getByRole('heading', { name: 'samples of seed1' }).waitFor()
  await dialog.getByRole('slider', { name: 'Share of the first image' }).waitFor()
  expect(await dialog.getByLabel('Compare with').inputValue()).toBe('step 5')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.waitForURL((url) => !/slider|open/.test(url.search))
  expect(complaints).toEqual([])
  await context.close()
})

test('tables, text, sound, plots, HTML and histograms are shown, and their names stay text', async () => {
  const { page, context, complaints } = await open(`/b/${BATCH}/j/seed0`, { width: 1440 })
  const media = page.getByRole('region', { name: 'Media', exact: true })
  await media.waitFor()
  const seen = async (key: string) => {
    await card(page, key).scrollIntoViewIfNeeded()
    return card(page, key)
  }
  const pred = await seen('pred')
  await pred.getByText('100,000 rows').waitFor()
  await pred.getByRole('button', { name: 'score' }).click()
  await pred.getByRole('button', { name: 'score' }).click()
  await expect.poll(() => pred.locator('tbody tr').first().locator('td').nth(2).innerText()).toBe('0.999')
  await pred.getByRole('button', { name: 'Next' }).click()
  await pred.getByText('page 2 of 5,000').waitFor()
  await pred.getByLabel('Find in pred of seed0').fill('horse')
  await pred.getByText('33,333 of 100,000 rows').waitFor()
  await (await seen('notes')).getByText(`said ${HOSTILE}`).waitFor()
  const sound = (await seen('sound')).locator('audio')
  await expect.poll(() => sound.evaluate((at: HTMLAudioElement) => at.duration)).toBe(1)
  await (await seen('confusion')).getByRole('columnheader', { name: HOSTILE }).waitFor()
  await (await seen('roc')).getByRole('img', { name: /cat, area 0.85/ }).waitFor()
  await seen('page')
  await page.frameLocator('iframe').getByRole('heading', { name: 'Report' }).waitFor()
  const map = (await seen('weights')).getByRole('img', {
    name: /^Distribution of weights of seed0 from epoch 0 to 10/,
  })
  await map.waitFor()
  await (await seen('weights')).getByText(/^epoch 10: median 1/).waitFor()
  expect(await page.title()).not.toBe('1')
  expect(await seriousFindings(page)).toEqual([])
  // The link has the search and order of the table.
  await page.reload()
  await (await seen('pred')).locator('th[aria-sort="descending"]').waitFor()
  expect(await pred.getByLabel('Find in pred of seed0').inputValue()).toBe('horse')
  // And the page of its rows.
  await pred.getByRole('button', { name: 'Next' }).click()
  await page.waitForURL(/page/)
  await page.reload()
  await (await seen('pred')).getByText('page 2 of 1,667').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('Compare shows the media of its runs side by side, with one slider, and says where there are none', async () => {
  await sendOther(web.app, web.reporter)
  const search = `batches=${JSON.stringify([BATCH, 'others'])}`
  const { page, context, complaints } = await open(`/compare?${search}`, { width: 1440 })
  const media = page.getByRole('region', { name: 'Media', exact: true })
  await media.scrollIntoViewIfNeeded()
  const [first, other] = [`${BATCH} / seed0`, 'other run / main']
  await isLoaded(page, first)
  await card(page, 'samples')
    .locator(`[data-media-job="${other}"]`)
    .getByText('Nothing at epoch 10')
    .waitFor()
  await page.getByRole('slider', { name: 'The epoch of all media' }).press('Home')
  await page.waitForURL(/step=0/)
  await isLoaded(page, first)
  await isLoaded(page, other)
  expect(await picture(page, other).getAttribute('alt')).toBe(`samples, ${other}, epoch 0`)
  // Another run is compared in the large view, and a step of this one.
  await card(page, 'samples').locator(`[data-media-job="${other}"] [data-image]`).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('heading', { name: `samples of ${other}` }).waitFor()
  await dialog.getByLabel('Compare with').selectOption({ label: first })
  await dialog.getByText(`${first}, epoch 0`).waitFor()
  await dialog.getByLabel('Compare with').selectOption({ label: 'epoch 5' })
  await dialog.getByText(`${other}, epoch 5`).waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await seriousFindings(page)).toEqual([])
  // The link restores the step.
  await page.reload()
  await media.scrollIntoViewIfNeeded()
  await isLoaded(page, other)
  expect(await picture(page, other).getAttribute('alt')).toBe(`samples, ${other}, epoch 0`)
  expect(complaints).toEqual([])
  await context.close()
})

test('a workspace shows the media of its batches, live', async () => {
  const of = eventsOf('drawing')
  await send(web.app, web.reporter, [of('batch_start', 60, {}), of('job_start', 59, {}, 'one')])
  const charts = { sel: ['drawing'] }
  const { page, context, complaints } = await open(
    `/p/digits?charts=${encodeURIComponent(JSON.stringify(charts))}`,
    { width: 1440 },
  )
  await page.getByText('Only the selected batch is drawn.').waitFor()
  const files = { token: web.reporter, batch: 'drawing' }
  const sendStep = async (step: number) => {
    await putFile(web.app, files, `media/${step}.png`, rings(700 + step).bytes)
    await send(web.app, web.reporter, [
      of('job_epoch', 50 - step, { epoch: step, sample: mediaValue('image', rings(700 + step)) }, 'one'),
    ])
  }
  await sendStep(1)
  const media = page.getByRole('region', { name: 'Media', exact: true })
  await media.scrollIntoViewIfNeeded()
  await card(page, 'sample').locator('img[alt="sample, drawing, epoch 1"]').waitFor()
  await sendStep(2)
  await card(page, 'sample').locator('img[alt="sample, drawing, epoch 2"]').waitFor()
  await card(page, 'sample').locator('[data-image]').focus()
  await page.keyboard.press('ArrowLeft')
  await page.waitForURL((url) => JSON.parse(url.searchParams.get('charts') ?? '{}').step === 1)
  await card(page, 'sample').locator('img[alt="sample, drawing, epoch 1"]').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a sweep shows the media of its best jobs, the best first', async () => {
  const { page, context, complaints } = await open(`/b/${BATCH}/sweep`, { width: 1440 })
  const media = page.getByRole('region', { name: 'Media of the best 3 jobs by best.val_loss' })
  await media.scrollIntoViewIfNeeded()
  await isLoaded(page, 'seed0')
  await card(page, 'samples').locator('[data-media-job="seed2"]').getByText('Nothing at epoch 10').waitFor()
  await page.getByRole('slider', { name: 'The epoch of all media' }).press('Home')
  await page.waitForURL(/step=0/)
  await isLoaded(page, 'seed2')
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a report shows the media of a run, of one key or of all, also by its public link', async () => {
  const { body: report } = await web.app.call('POST', '/api/reports', {
    token: web.ada.token,
    body: {
      project: 'digits',
      title: 'Pictures',
      body: `Seen:\n\n@media(${BATCH}, samples)\n\n@media(${BATCH}, nothing)`,
    },
  })
  const { page, context, complaints } = await open(`/r/${report.id}`)
  await isLoaded(page, 'seed0')
  expect(await page.locator('[data-media]').count()).toBe(1)
  await page.getByText('No job has media under nothing. There are confusion, notes').waitFor()
  await page.getByRole('slider', { name: 'The epoch of all media' }).press('Home')
  await isLoaded(page, 'seed2')
  expect(await seriousFindings(page)).toEqual([])
  // The block is edited in its place.
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Remove the media, block 3' }).click()
  await page.getByLabel('Media keys, separated by commas').fill('notes, samples')
  await card(page, 'notes').waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  const { body: saved } = await web.app.call('GET', `/api/reports/${report.id}`, { token: web.ada.token })
  expect(saved.body).toBe(`Seen:\n\n@media(${BATCH}, notes, samples)`)
  const { body: link } = await web.app.call('POST', `/api/reports/${report.id}/links`, {
    token: web.ada.token,
    body: {},
  })
  expect(link.batches).toEqual([BATCH])
  const visitor = await web.signedOut({ width: 390 })
  await visitor.page.goto(new URL(link.url).pathname)
  await isLoaded(visitor.page, 'seed0')
  expect(await visitor.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  expect([...complaints, ...visitor.complaints]).toEqual([])
  await visitor.context.close()
  await context.close()
})

test('a table is compared with that of another step, and histograms are ridges or show quantiles', async () => {
  const of = eventsOf('tables')
  const files = { token: web.reporter, batch: 'tables' }
  const tables = [
    [
      ['a', 0.5],
      ['b', 0.25],
    ],
    [
      ['a', 0.5],
      ['b', 0.75],
      ['c', 1],
    ],
  ].map((data) => json({ columns: ['name', 'score'], data }))
  await send(web.app, web.reporter, [of('batch_start', 60, {}), of('job_start', 59, {}, 'one')])
  for (const [step, one] of tables.entries()) {
    await putFile(web.app, files, `media/${step}.json`, one.bytes)
    await send(web.app, web.reporter, [
      of(
        'job_epoch',
        50 - step,
        { epoch: step, pred: mediaValue('table', one), weights: histogram(step, 1) },
        'one',
      ),
    ])
  }
  const { page, context, complaints } = await open('/b/tables/media', { width: 1440 })
  const pred = card(page, 'pred')
  await pred.getByText('3 rows').waitFor()
  await pred.getByLabel('Compare pred of one with').selectOption({ label: 'epoch 0' })
  await pred.getByText('Since epoch 0: 1 row changed, 1 added, 1 equal; rows are matched by name.').waitFor()
  const rows = pred.locator('tbody tr')
  await expect.poll(() => rows.first().locator('td').allInnerTexts()).toEqual(['changed', 'b', '0.75', '0.5'])
  expect(await seriousFindings(page)).toEqual([])
  const weights = card(page, 'weights')
  await weights.getByLabel('quantiles').check()
  await expect.poll(() => weights.locator('[data-quantile]').count()).toBe(5)
  await weights.getByText(/^epoch 1: 5% .*, 25% .*, median .*, 75% .*, 95%/).waitFor()
  await weights.getByLabel('Form of weights').selectOption({ label: 'Ridges' })
  await expect.poll(() => weights.locator('[data-ridge]').count()).toBe(2)
  await weights.locator('[data-ridge="0"]').click()
  await page.waitForURL(/step=0/)
  await pred.getByText('2 rows').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('cards are moved, resized and hidden by keyboard, and the address keeps that and what is chosen in them', async () => {
  const { page, context, complaints } = await open(`/b/${BATCH}/media`)
  const order = (attribute: string) =>
    page
      .locator(`[${attribute}]`)
      .evaluateAll((all, name) => all.map((one) => one.getAttribute(name)), attribute)
  await card(page, 'weights').waitFor()
  const [first = '', second = ''] = (await order('data-media')) as string[]
  await page.getByRole('button', { name: 'Arrange media' }).click()
  const move = (name: string) => page.getByRole('button', { name: `Move ${name}`, exact: true })
  await move(second).focus()
  await page.keyboard.press('Space')
  const said = page.getByRole('status').filter({ hasText: second })
  await said.waitFor({ state: 'attached' })
  await moveUntil(page, 'ArrowUp', said.filter({ hasText: `over droppable area media:${first}` }))
  await page.keyboard.press('Space')
  await expect.poll(() => order('data-arranged')).toEqual(expect.arrayContaining([`media:${first}`]))
  await expect
    .poll(async () => (await order('data-arranged')).slice(0, 2))
    .toEqual([`media:${second}`, `media:${first}`])
  await page.getByRole('button', { name: `Resize ${second}: width 3 of 3, height 1 of 3` }).focus()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('button', { name: `Resize ${second}: width 3 of 3, height 2 of 3` }).waitFor()
  await page.getByRole('button', { name: `Hide ${first}`, exact: true }).click()
  expect(await seriousFindings(page)).toEqual([])
  await page.getByRole('button', { name: 'Done arranging media' }).click()
  await card(page, 'weights').getByLabel('Form of weights').selectOption({ label: 'Ridges' })
  await page.waitForURL(/ridges/)
  const again = await context.newPage()
  await again.goto(page.url())
  await card(again, 'weights').locator('[data-ridge]').first().waitFor()
  const shown = await again
    .locator('[data-media]')
    .evaluateAll((all) => all.map((one) => one.getAttribute('data-media')))
  expect(shown[0]).toBe(second)
  expect(shown).not.toContain(first)
  await page.getByRole('button', { name: 'Arrange media' }).click()
  await page.getByRole('button', { name: `Show ${first}` }).click()
  await page.getByRole('button', { name: 'Reset arrangement' }).click()
  await expect
    .poll(async () => (await order('data-arranged')).slice(0, 2))
    .toEqual([`media:${first}`, `media:${second}`])
  expect(page.url()).not.toContain('layout')
  expect(complaints).toEqual([])
  await context.close()
})

test('media and their content appear as they arrive, and what is shown stays in place', async () => {
  const of = eventsOf('growing')
  const image = (seed: number) => mediaValue('image', rings(seed))
  const epoch = (n: number) => of('job_epoch', 50 - n, { epoch: n, samples: image(n) }, 'one')
  const files = { token: web.reporter, batch: 'growing' }
  await send(web.app, web.reporter, [of('batch_start', 60, {}), of('job_start', 59, {}, 'one'), epoch(1)])
  const { page, context, complaints } = await open('/b/growing/media')
  await page.getByText('Not uploaded yet').waitFor()
  const tile = () => card(page, 'samples').locator('figure').first().boundingBox()
  const before = await tile()
  await putFile(web.app, files, 'media/one.png', rings(1).bytes)
  await card(page, 'samples').locator('img[alt="samples, one, epoch 1"]').waitFor()
  expect(await tile()).toEqual(before)
  await putFile(web.app, files, 'media/two.png', rings(2).bytes)
  await send(web.app, web.reporter, [epoch(2)])
  await card(page, 'samples').locator('img[alt="samples, one, epoch 2"]').waitFor()
  expect(await tile()).toEqual(before)
  // A step that was chosen stays.
  await page.getByRole('button', { name: 'Previous epoch' }).first().click()
  await page.waitForURL(/step=1/)
  await send(web.app, web.reporter, [epoch(3)])
  await expect.poll(() => page.getByRole('slider').first().getAttribute('max')).toBe('2')
  await card(page, 'samples').locator('img[alt="samples, one, epoch 1"]').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('of many images only those near the screen are loaded', async () => {
  const of = eventsOf('many')
  const images = Array.from({ length: 60 }, (_, i) => rings(1_000 + i, 8))
  await send(web.app, web.reporter, [of('batch_start', 60, {}), of('job_start', 59, {}, 'one')])
  const declared = await web.app.call('POST', '/api/batches/many/files', {
    token: web.reporter,
    body: { files: images.map((one, i) => declaration(`media/${i}.png`, one.bytes)) },
  })
  expect(declared.status).toBe(200)
  await Promise.all(
    images.map(({ bytes }, i) => patch(web.app, web.reporter, declared.body.items[i].upload_url, 0, bytes)),
  )
  await send(web.app, web.reporter, [
    of('job_epoch', 50, { epoch: 0, samples: images.map((one) => mediaValue('image', one)) }, 'one'),
  ])
  const { page, context, complaints } = await web.asAda({ width: 1280 })
  const loaded: string[] = []
  page.on('request', (request) => request.url().includes('/files/media/') && loaded.push(request.url()))
  await page.goto('/b/many/media?tile=%22l%22')
  await page.locator('[data-image="23"] img').waitFor()
  await page.getByRole('button', { name: 'Show all 60' }).click()
  await page.locator('[data-image="59"] img').waitFor({ state: 'attached' })
  expect(loaded.length).toBeLessThan(60)
  expect(complaints).toEqual([])
  await context.close()
})
