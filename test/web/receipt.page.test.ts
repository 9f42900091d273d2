import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send } from './visit.ts'

/** The receipt in the page (contract §10 "Receipt"). */

const web = pageFixture()
const { asAda: open } = web

test('the receipt shows missing events, and is complete once they have arrived', async () => {
  const id = 'spilled'
  const of = eventsOf(id)
  const late = of('job_epoch', 50, { epoch: 2, val_loss: 1 }, 'a')
  await send(web.app, web.reporter, [
    of('batch_start', 60, { n_total: 1 }),
    of('job_epoch', 55, { epoch: 0, val_loss: 1 }, 'a'),
    of('job_epoch', 52, { epoch: 1, val_loss: 1 }, 'a'),
    of('job_epoch', 45, { epoch: 3, val_loss: 1 }, 'a'),
    of('batch_done', 40, {
      delivery: { produced: 6, accepted: 4, duplicate: 0, spilled: 1, dropped: 0 },
    }),
  ])
  const { page, context, complaints } = await open()
  await page.goto(`/b/${id}/delivery`)
  await page.locator('[data-delivery="incomplete"]').waitFor()
  await page.getByText('1 event still to come').waitFor()
  await page.getByText('1: epoch 2', { exact: true }).waitFor()
  await send(web.app, web.reporter, [late])
  await page.locator('[data-delivery="complete"]').waitFor()
  await page.getByText('No gaps between the epochs that arrived.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the points of a run whose script counts steps are called points at steps, on every page of it', async () => {
  const id = 'counts-steps'
  const of = eventsOf(id)
  await send(web.app, web.reporter, [
    of('batch_start', 60, { n_total: 1 }),
    of('job_start', 59, { step_unit: 'step' }, 'main'),
    ...[0, 1, 4].map((step) => of('job_epoch', 50 - step, { epoch: step, val_loss: 1 }, 'main')),
    of('job_done', 20, {}, 'main'),
    of('batch_done', 10),
  ])
  const { page, context } = await open({ width: 1440 })
  await page.goto(`/b/${id}/jobs`)
  await page.getByRole('columnheader', { name: 'Points' }).waitFor()
  await page.locator('[data-chart="val_loss"][data-unit="step"] canvas').waitFor()
  await page.goto(`/b/${id}/delivery`)
  await page.getByRole('heading', { name: 'Points of each job' }).waitFor()
  await page.getByRole('columnheader', { name: 'Points stored' }).waitFor()
  await page.getByText('2: steps 2–3', { exact: true }).waitFor()
  for (const path of ['jobs', 'delivery', 'j/main']) {
    await page.goto(`/b/${id}/${path}`)
    await page
      .getByText(/^Points/)
      .first()
      .waitFor()
    expect(await page.getByRole('main').innerText()).not.toMatch(/epoch/i)
  }
  await context.close()
})

test('the receipt of a batch whose worker was killed shows its last count, and that more events may be lost', async () => {
  const id = 'killed-worker'
  const of = eventsOf(id)
  const WORKER = 'bbbbbbbbbbbb'
  const madeBy = (sender: string, event: object) => ({
    ...event,
    event_id: crypto.randomUUID().slice(0, -12) + sender,
  })
  const counts = (sender: string, produced: number) => ({ sender, produced })
  const { status } = await web.app.call('POST', '/api/events/batch', {
    token: web.reporter,
    headers: { 'x-svc-sender': 'event-id' },
    body: [
      madeBy('aaaaaaaaaaaa', of('batch_start', 60, { n_total: 1 })),
      madeBy(WORKER, of('job_epoch', 55, { epoch: 0, val_loss: 1 }, 'a')),
      madeBy(WORKER, of('resource_snapshot', 50, { heartbeat: true, delivery_so_far: counts(WORKER, 5) })),
      madeBy('aaaaaaaaaaaa', of('batch_done', 40, { delivery: counts('aaaaaaaaaaaa', 2) })),
    ],
  })
  expect(status).toBe(200)
  const { page, context, complaints } = await open()
  await page.goto(`/b/${id}/delivery`)
  await page.locator('[data-delivery="incomplete"]').waitFor()
  await page.getByText('3 events or more of 1 process without a last count').waitFor()
  await page.getByRole('row', { name: WORKER }).getByText('at least 5').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})
