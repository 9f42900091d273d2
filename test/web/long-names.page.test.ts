import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { PASSWORD } from '../kit/app.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, settled } from './ran-batch.ts'
import { send } from './visit.ts'

// Long names that differ at their ends, and the buttons of rows, on narrow screens.

const LONG = 'resnet50-imagenet-augmented-warmup-cosine-lr-0.001-seed'
const BATCHES = [`${LONG}-1`, `${LONG}-2`]

const PROJECT = 'Digits of all handwriting, augmented, with a cosine schedule and three seeds'

const web = pageFixture(async ({ app, ada, reporter }) => {
  for (const batch of BATCHES) {
    const of = eventsOf(batch)
    await send(app, reporter, [
      of('batch_start', 3600, { n_total: 3 }),
      ...[1, 2, 12].flatMap((seed) => [
        of('job_start', 3590, { seed, [`${LONG}-weight`]: seed }, `${LONG}-${seed}`),
        of('job_epoch', 3580, { epoch: 0, [`${LONG}/val_loss`]: 0, val_loss: seed }, `${LONG}-${seed}`),
        of('log_line', 3570, { line: 'begun', level: 'info' }, `${LONG}-${seed}`),
      ]),
      of('job_done', 3560, {}, `${LONG}-1`),
      of('job_failed', 3560, { error: 'out of memory' }, `${LONG}-2`),
    ])
  }
  await app.call('PATCH', '/api/projects/digits', { token: ada.token, body: { display_name: PROJECT } })
  await app.register('another-person@a-long-domain.example.org')
})

/** The ends of names that are cut off by a box, of all that the page has. */
const endsOfNames = (page: Page) =>
  page.evaluate(() => {
    const ends = [...document.querySelectorAll('.name-tail')].filter((end) => end.checkVisibility())
    const isCut = (end: Element): boolean => {
      end.closest('.name')?.parentElement?.scrollIntoView({ block: 'center', behavior: 'instant' })
      const text = document.createRange()
      text.selectNodeContents(end)
      const { right, top, bottom } = text.getBoundingClientRect()
      return document.elementFromPoint(right - 2, (top + bottom) / 2) !== end
    }
    return {
      all: ends.length,
      cut: ends
        .filter(isCut)
        .map((end) => `${end.parentElement?.className}: ${end.parentElement?.textContent}`),
    }
  })

test.each([
  [1280, 'Home', '/', 2],
  [390, 'Home', '/', 2],
  [1280, 'the table of batches', '/p/digits', 2],
  [390, 'the table of batches', '/p/digits', 2],
  [1280, 'the charts of a project', `/p/digits?charts=${encodeURIComponent('{"sel":[]}')}`, 2],
  [1280, 'the charts of a batch', `/b/${BATCHES[0]}`, 5],
  [390, 'the charts of a batch', `/b/${BATCHES[0]}`, 2],
  [1280, 'the jobs of a batch', `/b/${BATCHES[0]}/jobs`, 3],
  [390, 'the jobs of a batch', `/b/${BATCHES[0]}/jobs`, 3],
  [1280, 'the log of a batch', `/b/${BATCHES[0]}/logs`, 3],
  [1280, 'the delivery of a batch', `/b/${BATCHES[0]}/delivery`, 3],
  [1280, 'a comparison', `/compare?batches=${encodeURIComponent(JSON.stringify(BATCHES))}`, 6],
])('at %i pixels, names on %s that do not fit are cut in the middle', async (width, _, path, least) => {
  const { page, context, complaints } = await web.asAda({ width })
  await page.goto(path)
  await expect.poll(async () => (await endsOfNames(page)).all).toBeGreaterThanOrEqual(least)
  await settled(page)
  await expect.poll(async () => (await endsOfNames(page)).cut).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a name that is cut is found, read aloud and copied whole', async () => {
  const { page, context } = await web.asAda({ width: 390 })
  await page.goto('/p/digits')
  const link = page.getByRole('link', { name: BATCHES[1] as string, exact: true })
  await link.waitFor()
  expect(await link.innerText()).toBe(BATCHES[1])
  await context.close()
})

test('the buttons of rows stay in sight on a phone', async () => {
  const body = { name: 'the-notebook-on-the-shared-workstation', scope: 'read' }
  await web.app.call('POST', '/api/tokens', { token: web.ada.token, body })
  await web.app.letIn(
    'digits',
    web.ada,
    await web.app.register('a-person@a-long-domain.example.org'),
    'viewer',
  )
  const { email } = web.ada
  await web.app.call('POST', '/api/auth/login', { body: { email, password: PASSWORD } })
  const { page, context } = await web.asAda({ width: 390 })
  for (const path of ['/tokens', '/account', '/p/digits/members']) {
    await page.goto(path)
    const cells = page.locator('.table-actions td:last-child:has(button)')
    await cells.first().waitFor()
    for (const cell of await cells.all()) {
      const box = await cell.boundingBox()
      expect((box?.x ?? 0) + (box?.width ?? 0), path).toBeLessThanOrEqual(390)
    }
  }
  await context.close()
})

test('the roles of users are not covered by the buttons of their rows on a phone', async () => {
  const { page, context } = await web.asAda({ width: 390 })
  await page.goto('/admin/users')
  const role = page.getByLabel('Role of another-person')
  await role.waitFor()
  const covered = async () => {
    const choice = await role.boundingBox()
    const cell = await page.locator('tr', { has: role }).locator('td:last-child').boundingBox()
    return choice && cell && choice.x + choice.width - cell.x
  }
  await expect.poll(covered).toBeLessThanOrEqual(0)
  await context.close()
})

test('the toolbar of a project with long names is one row, with the rest in a menu', async () => {
  const { page, context } = await web.asAda({ width: 1440 })
  await page.goto('/p/digits?q=seed%3A1')
  const main = page.getByRole('main')
  const name = main.getByRole('heading', { level: 1, name: PROJECT })
  await name.waitFor()
  await main.getByRole('button', { name: 'Views', exact: true }).click()
  await page.getByRole('dialog', { name: 'Saved views' }).getByRole('button', { name: 'Save view' }).click()
  const view = 'Batches of seed 1 with the cosine schedule'
  await page.getByLabel('Name').fill(view)
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await main.getByRole('button', { name: view }).waitFor()
  const row = name.locator('xpath=..')
  const more = main.getByRole('button', { name: 'More' })
  for (const width of [1440, 1280, 1024]) {
    await page.setViewportSize({ width, height: 900 })
    await more.waitFor()
    const look = () =>
      row.evaluate((one) => ({
        over: one.scrollWidth - one.clientWidth,
        rows: Math.floor(one.clientHeight / 40),
      }))
    await expect.poll(look, { message: `${width} pixels` }).toEqual({ over: 0, rows: 1 })
    expect(await main.getByRole('link', { name: 'Rules', exact: true }).isVisible()).toBe(false)
  }
  await more.click()
  await page.getByRole('menuitem', { name: 'New sweep' }).click()
  await page.getByRole('dialog', { name: 'New sweep' }).getByRole('button', { name: 'Cancel' }).click()
  await more.click()
  await page.getByRole('menuitem', { name: 'Rules' }).click()
  await page.waitForURL('/p/digits/rules')
  await context.close()
})

test('on a phone a short project name stays whole beside the long name of a batch', async () => {
  const { page, context } = await web.asAda({ width: 390 })
  await page.goto(`/b/${BATCHES[0]}`)
  const path = page.getByRole('navigation', { name: 'Breadcrumb' })
  const project = path.getByRole('link', { name: 'digits', exact: true })
  await project.waitFor()
  await path.getByRole('link', { name: BATCHES[0] ?? '' }).waitFor()
  const look = () =>
    project.evaluate((one) => ({
      cut: one.scrollWidth - one.clientWidth,
      over: document.body.scrollWidth - innerWidth,
    }))
  await expect.poll(look).toEqual({ cut: 0, over: 0 })
  await context.close()
})

test('the toolbar of a project with a short name has all of its links', async () => {
  const body = { slug: 'short', display_name: 'short' }
  await web.app.call('POST', '/api/projects', { token: web.ada.token, body })
  const { page, context } = await web.asAda({ width: 1280 })
  await page.goto('/p/short')
  const main = page.getByRole('main')
  for (const link of ['Reports', 'Artifacts', 'Members', 'Rules'])
    await main.getByRole('link', { name: link, exact: true }).waitFor()
  await main.getByRole('button', { name: 'New sweep' }).waitFor()
  await context.close()
})

test('the command palette finds runs and jobs by several words, and runs by their names', async () => {
  const named = eventsOf('train-1')
  await send(web.app, web.reporter, [named('batch_start', 60, { name: 'warm restarts of the night' })])
  const { page, context } = await web.asAda()
  await page.goto('/tokens')
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  await page.keyboard.press('Control+k')
  const field = page.getByLabel('Search projects, batches, jobs, pages and actions')
  await field.fill('resnet50 seed-12')
  await page
    .getByRole('option', { name: /seed-12/ })
    .first()
    .waitFor()
  await field.fill('restarts night')
  await page.getByRole('option', { name: /warm restarts of the night.*train-1/ }).click()
  await page.waitForURL('/b/train-1')
  await context.close()
})
