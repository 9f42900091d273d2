import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

// Saved views: kept by the service, private or for the project, opened by a link, or first when a project is opened.

let bob: { cookie: string; token: string }

const web = pageFixture(async ({ app, ada, reporter }) => {
  bob = await app.register('bob@example.org')
  const events = ['one', 'two', 'three'].flatMap((id, i) => {
    const of = eventsOf(`views-${id}`)
    return [
      of('batch_start', 900 - i, { experiment_type: 'run', tags: i === 0 ? ['night'] : [] }),
      of('job_start', 900 - i, { lr: 10 ** -i }, 'main'),
      of('job_epoch', 800 - i, { epoch: 0, loss: 1 / (i + 1) }, 'main'),
      of('job_done', 700 - i, {}, 'main'),
      of('batch_done', 700 - i, { n_done: 1, n_failed: 0, total_elapsed_s: 200 }),
    ]
  })
  await send(app, reporter, events)
  await app.letIn('digits', ada, { email: 'bob@example.org', token: bob.token }, 'member')
})

async function as(
  account: { cookie: string },
  path: string,
  see: (page: Page) => Promise<void>,
  expected: readonly string[] = [],
): Promise<void> {
  const { page, context, complaints } = await web.as(account)
  await page.goto(path)
  await see(page)
  expect(complaints).toEqual(expected)
  await context.close()
}
const listed = (page: Page) => page.locator('[data-row] a[data-open]')
const menu = (page: Page) => page.getByRole('dialog', { name: 'Saved views' })
const saved = async () =>
  (await web.app.call('GET', '/api/views?project=digits', { token: web.ada.token })).body.items

async function save(page: Page, label: string, name: string, audience?: string): Promise<void> {
  await page.getByRole('button', { name: label }).click()
  await menu(page).getByRole('button', { name: 'Save view' }).click()
  await page.getByLabel('Name').fill(name)
  if (audience) await page.getByLabel('Who sees it').selectOption({ label: audience })
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

test('a view shared with the project opens for its members with filter and columns, also by its link', async () => {
  await as(web.ada, '/p/digits?q=tag%3Anight&cols=%5B"progress"%2C"param.lr"%5D', async (page) => {
    await expect.poll(() => listed(page).count()).toBe(1)
    await save(page, 'Views', 'Nights', 'Everyone in the project')
    await page.getByRole('button', { name: 'Nights' }).waitFor()
    await page.getByRole('navigation', { name: 'Projects' }).getByRole('link', { name: 'Nights' }).waitFor()
  })
  const [view] = await saved()
  expect(view).toMatchObject({ title: 'Nights', audience: 'project', project: 'digits' })

  await as(bob, '/p/digits', async (page) => {
    await expect.poll(() => listed(page).count()).toBe(3)
    await page.getByRole('button', { name: 'Views' }).click()
    await menu(page).getByRole('button', { name: 'Delete Nights' }).waitFor({ state: 'detached' })
    await menu(page).getByRole('button', { name: 'Nights', exact: true }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await menu(page).getByRole('button', { name: 'Nights', exact: true }).click()
    await expect.poll(() => listed(page).count()).toBe(1)
    await page.getByRole('columnheader', { name: 'lr' }).waitFor()
    await page.getByRole('button', { name: 'Nights' }).click()
    await menu(page).getByRole('button', { name: 'All batches' }).click()
    await expect.poll(() => listed(page).count()).toBe(3)
  })
  await as(bob, `/v/${view.id}`, async (page) => {
    await page.waitForURL(/\/p\/digits\?.*night/)
    await expect.poll(() => listed(page).count()).toBe(1)
  })
})

test('the project opens with its default view; removing its filter shows all', async () => {
  const [view] = await saved()
  await as(web.ada, '/p/digits', async (page) => {
    await page.getByRole('button', { name: 'Views' }).click()
    await menu(page).getByLabel('Who sees Nights').selectOption('default')
    await expect.poll(async () => (await saved())[0].audience).toBe('default')
  })
  await as(bob, '/p/digits', async (page) => {
    await page.waitForURL(/\?.*night/)
    await expect.poll(() => listed(page).count()).toBe(1)
    await page.getByRole('link', { name: 'Remove the filter tag:night' }).click()
    await expect.poll(() => listed(page).count()).toBe(3)
  })
  await web.app.call('PATCH', `/api/views/${view.id}`, {
    token: web.ada.token,
    body: { audience: 'private' },
  })
  await as(
    bob,
    `/v/${view.id}`,
    async (page) => {
      await page.getByText('No such saved view').waitFor()
    },
    ['Failed to load resource: the server responded with a status of 404 (Not Found)'],
  )
})

test('a view can be overwritten with the current state, deleted, and restored', async () => {
  await as(web.ada, '/p/digits?sort=param.lr', async (page) => {
    await expect.poll(() => listed(page).count()).toBe(3)
    await page.getByRole('button', { name: 'Views' }).click()
    await menu(page).getByRole('button', { name: 'Replace Nights with the current view' }).click()
    await expect.poll(async () => (await saved())[0].path).toMatch(/sort=param\.lr/)
    await menu(page).getByRole('button', { name: 'Delete Nights' }).click()
    await expect.poll(saved).toEqual([])
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(async () => (await saved()).length).toBe(1)
  })
})

test('views that an earlier version stored in the browser are moved to the service', async () => {
  await as(bob, '/', async (page) => {
    await page.evaluate(() =>
      localStorage.setItem(
        'pinned views',
        JSON.stringify([
          { title: 'Old pin', href: '/p/digits?q=night' },
          { title: 'Odd', href: '//elsewhere' },
        ]),
      ),
    )
    await page.reload()
    await page.getByRole('link', { name: 'Old pin' }).waitFor()
    // The page before the reload may have saved the view already: then the link is there before this page has moved it.
    await expect.poll(() => page.evaluate(() => localStorage.getItem('pinned views'))).toBeNull()
  })
})
