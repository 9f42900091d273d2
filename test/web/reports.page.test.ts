import { expect, test } from 'vitest'
import { printBlocks, type ReportBlock, reportBlocks } from '../../web/src/lib/report-blocks.ts'
import { pageFixture } from './page-fixture.ts'
import { sendRanBatch } from './ran-batch.ts'
import { moveUntil, seriousFindings } from './visit.ts'

// A report: Markdown with live runs in it, written in a project, printed, and opened by a public link.

const web = pageFixture(async ({ app, reporter }) => {
  await sendRanBatch(app, reporter, 'night')
})

test('lines that embed a run are recognised; mistakes in them are explained; code embeds nothing', () => {
  expect(
    reportBlocks('# Title\n\n@batch(night)\n@chart("a, b", val_loss, acc)\ntext @jobs(night)\n@jobs(x)'),
  ).toEqual([
    { kind: 'text', text: '# Title' },
    { kind: 'batch', id: 'night' },
    { kind: 'chart', id: 'a, b', series: ['val_loss', 'acc'] },
    { kind: 'text', text: 'text @jobs(night)' },
    { kind: 'jobs', id: 'x' },
  ])
  expect(reportBlocks('@graph(x)\n@batch()')).toMatchObject([
    { kind: 'wrong', why: 'There is no @graph: use @batch, @chart, @media, @jobs, @sweep, @runs or @view' },
    { kind: 'wrong', why: '@batch needs the id of a batch' },
  ])
  expect(reportBlocks('```\n@batch(x)\n```')).toEqual([{ kind: 'text', text: '```\n@batch(x)\n```' }])
})

test('blocks are printed as text that has the same blocks', () => {
  const blocks = [
    { kind: 'text', text: '# Title\n\nwith text' },
    { kind: 'chart', id: 'a, b', series: ['val/loss', 'x, y'] },
    { kind: 'media', id: 'night', series: ['samples'] },
    { kind: 'sweep', id: 'night' },
    { kind: 'runs', query: 'lr<0.1 (tag:a OR "b c":d)' },
    { kind: 'view', id: '6f1c' },
    { kind: 'wrong', text: '@graph(x)', why: expect.any(String) },
  ] as ReportBlock[]
  expect(reportBlocks(printBlocks(blocks))).toEqual(blocks)
  expect(printBlocks([{ kind: 'text', text: ' ' }])).toBe('')
})

test('a report is edited in place: blocks are added, moved by keyboard and removed', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/p/digits/reports')
  await page.getByRole('button', { name: 'New report' }).click()
  await page.getByLabel('Title').fill('In blocks')
  await page.getByRole('button', { name: 'Add text' }).click()
  await page.getByLabel('Text of block 1, in Markdown').fill('The **first** run.')
  for (const kind of ['chart', 'table', 'sweep plot', 'run set', 'run'])
    await page.getByRole('button', { name: `Add ${kind}`, exact: true }).click()
  const kinds = () =>
    page.locator('[data-block]').evaluateAll((all) => all.map((one) => one.getAttribute('data-block')))
  expect(await kinds()).toEqual(['text', 'chart', 'jobs', 'sweep', 'runs', 'batch'])
  await page.locator('[data-block=chart] [data-points]').first().waitFor()
  await page.getByRole('region', { name: 'Jobs' }).getByText('good').waitFor()
  await page.getByLabel('Add a block below block 1', { exact: true }).selectOption({ label: 'Run' })
  expect(await kinds()).toEqual(['text', 'batch', 'chart', 'jobs', 'sweep', 'runs', 'batch'])
  await page.getByRole('button', { name: 'Remove the run, block 2' }).click()
  await page.getByRole('button', { name: 'Remove the run, block 6' }).click()
  await page.getByLabel('Query of the run set').fill('status:failed')
  await page.getByRole('region', { name: 'Runs of status:failed' }).getByText('night').waitFor()
  await page.getByRole('button', { name: 'Move the chart, block 2', exact: true }).focus()
  await page.keyboard.press('Space')
  const said = page.getByRole('status').filter({ hasText: 'block 1' })
  await said.first().waitFor({ state: 'attached' })
  await moveUntil(page, 'ArrowUp', said.filter({ hasText: /over droppable area block 0/ }))
  await page.keyboard.press('Space')
  await expect.poll(kinds).toEqual(['chart', 'text', 'jobs', 'sweep', 'runs'])
  expect(await seriousFindings(page)).toEqual([])
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { name: 'In blocks' }).waitFor()
  const [report] = (await web.app.call('GET', '/api/reports?project=digits', { token: web.ada.token })).body
    .items
  const { body } = await web.app.call('GET', `/api/reports/${report.id}`, { token: web.ada.token })
  expect(body.body).toBe(
    '@chart(night)\n\nThe **first** run.\n\n@jobs(night)\n\n@sweep(night)\n\n@runs(status:failed)',
  )
  await web.app.call('DELETE', `/api/reports/${report.id}`, { token: web.ada.token })
  expect(complaints).toEqual([])
  await context.close()
})

test('a chart of a series that no job has says so, and lists no job as if it were drawn', async () => {
  const { body } = await web.app.call('POST', '/api/reports', {
    token: web.ada.token,
    body: { project: 'digits', title: 'Typed wrongly', body: '@chart(night, val_los)' },
  })
  const { page, context } = await web.asAda()
  await page.goto(`/r/${body.id}`)
  const figure = page.locator('[data-report] figure')
  await figure.getByText('No job has val_los. There is val_loss.').waitFor()
  expect(await figure.innerText()).not.toContain('good')
  await web.app.call('DELETE', `/api/reports/${body.id}`, { token: web.ada.token })
  await context.close()
})

test('a report can be created from selected batches, edited, read by link without an account, and revoked', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/p/digits')
  await page.getByLabel('Select night').check()
  await page.getByRole('link', { name: 'Report', exact: true }).click()
  await page.getByLabel('Title').fill('What the night taught')
  await page.getByRole('button', { name: 'Markdown' }).click()
  const text = page.getByLabel('Text, in Markdown', { exact: true })
  await expect.poll(() => text.inputValue()).toContain('@chart(night)')
  await text.fill(
    'The **first** run.\n\n@batch(night)\n@chart(night, val_loss)\n@jobs(night)\n\n@batch(other)',
  )
  await page.locator('[data-report] [data-points]').first().waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.getByRole('button', { name: 'Save', exact: true }).click()

  await page.getByRole('heading', { name: 'What the night taught' }).waitFor()
  const shown = page.locator('[data-report]')
  await shown.locator('[data-points]').first().waitFor()
  await shown.getByRole('table').getByText('good').waitFor()
  await shown.getByText('The batch other cannot be shown').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('navigation', { name: 'Projects' }).isVisible()).toBe(false)
  expect(await page.getByRole('button', { name: 'Edit' }).isVisible()).toBe(false)
  await page.emulateMedia({ media: 'screen' })

  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByRole('button', { name: 'Make a link' }).click()
  await page.getByText('It opens the text and 1 batch').waitFor()
  const url = String(await page.getByLabel('Link', { exact: true }).first().textContent()).trim()
  const path = /\/sr\/[\w-]{32}/.exec(url)?.[0] ?? ''

  const visitor = await web.signedOut({ width: 390 })
  await visitor.page.goto(path)
  await visitor.page.getByRole('heading', { name: 'What the night taught' }).waitFor()
  await visitor.page.locator('[data-report] [data-points]').first().waitFor()
  await visitor.page.getByRole('table').getByText('good').waitFor()
  await visitor.page.getByText('This link does not open the batch other').waitFor()
  expect(await seriousFindings(visitor.page)).toEqual([])
  expect(visitor.complaints).toEqual([])

  await page.getByRole('button', { name: 'Revoke all links' }).click()
  await expect.poll(() => page.getByText('It opens the text').count()).toBe(0)
  await visitor.page.reload()
  await visitor.page.getByText('This link is no longer valid').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'digits' }).last().click()
  await page.getByRole('table', { name: 'Reports' }).or(page.getByLabel('Reports')).first().waitFor()
  await page.getByRole('link', { name: 'What the night taught' }).waitFor()
  expect(complaints).toEqual([])
  await visitor.context.close()
  await context.close()
})
