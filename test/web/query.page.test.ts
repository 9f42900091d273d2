import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { type Event, send, seriousFindings } from './visit.ts'

// The query language over all projects, and actions on its results.

/** A batch of two jobs that has ended. */
function batch(id: string, project: string, optimizer: string): Event[] {
  const start = Date.now() - 600_000
  const event = (event_type: string, job_id: string | null, s: number, data: object): Event => ({
    event_id: crypto.randomUUID(),
    schema_version: '1.1',
    event_type,
    batch_id: id,
    job_id,
    timestamp: new Date(start + s * 1000).toISOString(),
    source: { project, host: 'box7' },
    data: { ...data },
  })
  return [
    event('batch_start', null, 0, { n_total: 2 }),
    ...[0.1, 0.001].flatMap((lr, i) => [
      event('job_start', `${id}-${i}`, 1, { lr, optimizer }),
      event('job_epoch', `${id}-${i}`, 2, { epoch: 0, val_loss: lr * 2 }),
      event('job_done', `${id}-${i}`, 3, {}),
    ]),
    event('batch_done', null, 4, { n_done: 2, n_failed: 0, total_elapsed_s: 4 }),
  ]
}

const web = pageFixture(
  async ({ app, reporter }) => {
    await send(app, reporter, [
      ...batch('first', 'vision', 'sgd'),
      ...batch('second', 'vision', 'adamw'),
      ...batch('third', 'speech', 'sgd'),
    ])
  },
  { config: { retention: { logLine: 36_500, event: undefined, deleted: 9, notification: 90 } } },
)
const { asAda } = web

type Page = Awaited<ReturnType<typeof asAda>>['page']
const opened = (page: Page) => page.locator('[data-open]').allTextContents()

test('Home finds batches and jobs of all projects by parameters and metrics', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/')
  const field = page.getByLabel('Search all projects')
  await field.fill('proj')
  await page.getByRole('option', { name: 'project:' }).click()
  await page.getByRole('option', { name: 'project:speech' }).click()
  await page.waitForURL(/q=project/)
  await expect.poll(() => opened(page)).toEqual(['third', 'third-1', 'third-0'])

  await field.fill('optimizer:SGD lr<0.01')
  await expect.poll(async () => (await opened(page)).sort()).toEqual(['first', 'first-1', 'third', 'third-1'])
  await page.reload()
  await page.getByRole('link', { name: 'third-1' }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await field.fill('lr<0.01 OR')
  await page.getByText('A condition is missing after OR').first().waitFor()
  await page.getByRole('heading', { name: 'The query is not understood' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the list of a project accepts conditions on texts, completes their values, and names unknown parameters', async () => {
  const { page, context } = await asAda()
  await page.goto('/p/vision')
  const field = page.getByLabel('Search batches')
  await field.fill('optimizer:')
  await page.getByRole('option', { name: 'optimizer:adamw' }).click()
  await expect.poll(() => opened(page)).toEqual(['second'])
  await field.fill('optimiser:adamw')
  await page.getByText('No recent batch has optimiser: did you mean optimizer?').waitFor()
  await context.close()
})

test('batches found by a query can be added to a comparison', async () => {
  const { page, context } = await asAda()
  await page.goto('/compare?batches=first')
  await page.getByRole('button', { name: 'Add batches' }).click()
  await page.getByLabel('Find batches').fill('project:speech')
  await page.getByRole('checkbox', { name: /third/ }).check()
  expect(await seriousFindings(page)).toEqual([])
  await page.getByRole('button', { name: 'Add 1 batch' }).click()
  await page.getByRole('heading', { name: 'Compare 4 jobs of 2 batches' }).waitFor()
  await context.close()
})

test('selected batches can be starred and archived; the trash restores deleted ones', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/p/vision')
  await page.getByLabel('Select first').check()
  await page.getByRole('button', { name: 'Star', exact: true }).click()
  await page.getByRole('img', { name: 'Starred' }).waitFor()
  await page.getByLabel('Search batches').fill('starred:true')
  await expect.poll(() => opened(page)).toEqual(['first'])
  await page.getByLabel('Select first').check()
  await page.getByRole('button', { name: 'Archive', exact: true }).click()
  await page.goto('/p/vision')
  await expect.poll(() => opened(page)).toEqual(['second'])
  await page.goto('/p/vision?q=archived:true')
  await expect.poll(() => opened(page)).toEqual(['first'])

  await page.goto('/p/speech')
  await page.getByLabel('Select third').check()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('1 batch deleted; kept for 9 days.').waitFor()
  await page.getByRole('link', { name: 'Trash' }).click()
  await page.getByText('purged with all of their data after 9 days.').waitFor()
  await page.getByText('8 days left').or(page.getByText('9 days left')).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.getByRole('button', { name: 'Restore third' }).click()
  await page.getByText('The trash is empty').waitFor()
  await page.getByText('can be restored here for 9 days, with all of its data').waitFor()
  await page.goto('/p/speech')
  await expect.poll(() => opened(page)).toEqual(['third'])
  expect(complaints).toEqual([])
  await context.close()
})
