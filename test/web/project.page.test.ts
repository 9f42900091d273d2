import { expect, test } from 'vitest'
import { batchNames, parseQuery } from '../../web/src/lib/batch-query.ts'
import { complete, completions, fromAddress, toggle, withAnd, without } from '../../web/src/lib/query.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { type Event, send, seriousFindings } from './visit.ts'

let n = 0

/** A batch of one job whose loss ends at `loss`; it goes on running without `done`. */
function batch(
  id: string,
  options: { lr: number; loss: number; host?: string; tags?: string[]; done?: boolean },
): Event[] {
  const start = Date.now() - 600_000 + n++ * 1000
  const event = (
    event_type: string,
    job_id: string | null,
    s: number,
    data: Record<string, unknown>,
  ): Event => ({
    event_id: crypto.randomUUID(),
    schema_version: '1.1',
    event_type,
    batch_id: id,
    job_id,
    timestamp: new Date(start + s * 1000).toISOString(),
    source: { project: 'tables', host: options.host ?? 'box7' },
    data,
  })
  return [
    event('batch_start', null, 0, { experiment_type: 'sweep', n_total: 2, tags: options.tags ?? [] }),
    event('job_start', 'only', 1, { lr: options.lr, model: 'tiny' }),
    ...[0, 1, 2, 3].map((epoch) =>
      event('job_epoch', 'only', 2 + epoch, { epoch, val_loss: options.loss + 3 - epoch }),
    ),
    ...(options.done === false
      ? []
      : [
          event('job_done', 'only', 8, {}),
          event('batch_done', null, 9, { n_done: 1, n_failed: 0, total_elapsed_s: 9 }),
        ]),
  ]
}

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, [
    ...batch('middle', { lr: 0.01, loss: 0.5, tags: ['night'] }),
    ...batch('worst', { lr: 0.1, loss: 0.9, host: 'box8' }),
    ...batch('best', { lr: 0.001, loss: 0.1, tags: ['night'] }),
    ...batch('live', { lr: 0.02, loss: 0.7, done: false }),
  ])
})
const { asAda } = web

type Page = Awaited<ReturnType<typeof asAda>>['page']
const order = (page: Page) => page.locator('[data-table] [data-open]').allTextContents()
const shows = (page: Page, wanted: string[]) => expect.poll(() => order(page)).toEqual(wanted)

const KNOWN = {
  params: ['lr', 'lr_end', 'optimizer'],
  series: ['val_loss'],
  main_metric: 'val_loss',
  hosts: ['box7'],
  owners: [],
  tags: ['night'],
  values: { optimizer: ['adamw', 'sgd'] },
}

test('a query is asked as it was typed; mistakes are explained', () => {
  const text = 'status:running lr<0.01 (tag:"two words" OR best.val_loss<=0.3) res net'
  expect(parseQuery(text)).toMatchObject({
    filter: { where: [text] },
    words: ['status:running', 'lr<0.01', 'tag:"two words" OR best.val_loss<=0.3', 'res', 'net'],
    problems: [],
    hints: [],
  })
  expect(parseQuery(' ').filter).toEqual({})
  const mistyped = 'No recent batch has optimiser: did you mean optimizer?'
  expect(parseQuery('optimiser:sgd', KNOWN)).toMatchObject({ problems: [], hints: [mistyped] })
  expect(parseQuery('optimizer:sgd best.loss<1', KNOWN)).toMatchObject({ problems: [], hints: [] })
  expect(parseQuery('lr<fast', KNOWN).hints[0]).toContain('compares texts, because fast is not a number')
  const spaced = { ...KNOWN, series: ['avg model score'] }
  expect(parseQuery('avg model score>0.5', spaced).hints[0]).toContain('"avg model score"')
  for (const [text, why] of [
    ['host<3', 'write host:3'],
    ['starred:yess', 'starred is true or false'],
    ['status:runing', 'runing is not a status'],
    ['lr<', 'lr< needs a value'],
    ['tag:', 'tag: needs a value'],
    ['"open', 'not closed'],
    ['lr<1 OR', 'missing after OR'],
  ] as const) {
    const { problems } = parseQuery(text)
    expect([text, problems.length]).toEqual([text, 1])
    expect(problems[0]).toContain(why)
    expect(problems[0]).toContain('at character')
  }
})

test('words of a query can be added, removed and completed', () => {
  expect(toggle('lr<1 tag:a', 'tag', 'b c')).toBe('lr<1 (tag:a OR tag:"b c")')
  expect(toggle('lr<1 (tag:a OR tag:"b c")', 'tag', 'A')).toBe('lr<1 tag:"b c"')
  expect(toggle('lr<1 tag:"b c"', 'tag', 'b c')).toBe('lr<1')
  expect(without('a "b c" lr<1', 'lr<1')).toBe('a "b c"')
  const known = batchNames(KNOWN)
  expect(completions('status:', known)).toContain('status:running')
  expect(completions('x tag:n', known)).toEqual(['tag:night'])
  expect(completions('x (tag:n', known)).toEqual(['tag:night'])
  expect(complete('x (tag:n', 'tag:night')).toBe('x (tag:night ')
  expect(completions('lr', known).slice(0, 2)).toEqual(['lr=', 'lr_end='])
  expect(completions('optimizer:', known)).toEqual(['optimizer:adamw', 'optimizer:sgd'])
  expect(complete('x tag:n', 'tag:night')).toBe('x tag:night ')
  // Every declared field is offered, after the names of the project.
  expect(completions('gpu', known)).toEqual(['gpu_count<'])
  expect(completions('n_fail', known)).toEqual(['n_failed<'])
  expect(completions('stop_requested:', known)).toEqual(['stop_requested:true', 'stop_requested:false'])
  const spaced = batchNames({ ...KNOWN, series: ['avg score'] })
  expect(completions('"avg', spaced)[0]).toBe('"avg score"<')
  expect(complete('lr<1 "avg', '"avg score"<')).toBe('lr<1 "avg score"<')
})

test('addresses of earlier versions mean the same: values of one filter are joined by OR', () => {
  expect(fromAddress('status:failed lr<1 status:lost')).toBe('(status:failed OR status:lost) lr<1')
  expect(fromAddress('tag:a tag:"b c" tag:d')).toBe('tag:a OR tag:"b c" OR tag:d')
  for (const text of ['tag:a lr<1', 'lr<1 lr>0', 'tag:a AND tag:b', 'text text', 'lr<'])
    expect(fromAddress(text)).toBe(text)
  expect(withAnd('tag:a tag:b lr<1')).toBe('tag:a AND tag:b AND lr<1')
  expect(withAnd('lr<1  tag:a')).toBe('lr<1  tag:a')
})

test('a batch from the stream is judged by the page as far as it knows the values', () => {
  const batch = { status: 'running', tags: ['Night'], host: 'box7', starred: false, archived: false }
  const judge = (text: string) => parseQuery(text).matches?.(batch as never)
  expect(judge('status:running tag:night NOT host:box8')).toBe(true)
  expect(judge('archived:true OR tag:day')).toBe(false)
  expect(judge('')).toBe(true)
  expect(judge('lr<1')).toBeUndefined()
  expect(parseQuery('').matches?.({ ...batch, archived: true } as never)).toBe(false)
})

test('a click on a column header sorts on the server and is in the address; any metric or parameter can be a column', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/p/tables')
  await shows(page, ['live', 'best', 'worst', 'middle'])
  await page.getByRole('button', { name: 'best val_loss' }).click()
  await page.waitForURL(/sort=min.val_loss/)
  await shows(page, ['best', 'middle', 'live', 'worst'])
  const head = page.getByRole('columnheader', { name: 'best val_loss' })
  await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')
  await page.getByRole('button', { name: 'best val_loss' }).click()
  await shows(page, ['worst', 'live', 'middle', 'best'])

  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByLabel('Find a column').fill('lr')
  await page.getByRole('button', { name: 'Show lr' }).click()
  await page.getByRole('button', { name: 'Hide Host' }).click()
  await page.getByRole('button', { name: 'Move lr up' }).click()
  await page.keyboard.press('Escape')
  await page.locator('[data-cell="param.lr"]', { hasText: '0.001' }).waitFor()
  await expect.poll(() => page.locator('[data-cell="host"]').count()).toBe(0)
  const link = page.url()
  // Kept for the project: without the address as well.
  await page.goto('/p/tables')
  await page.locator('[data-cell="param.lr"]').first().waitFor()
  // In the URL: for other users as well.
  const other = await asAda()
  await other.page.goto(link)
  await other.page.locator('[data-cell="param.lr"]').first().waitFor()
  await shows(other.page, ['worst', 'live', 'middle', 'best'])
  expect([...complaints, ...other.complaints]).toEqual([])
  await context.close()
  await other.context.close()
})

test('conditions filter the list, chips remove them, completion suggests words, mistakes are shown', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/p/tables')
  const field = page.getByLabel('Search batches')
  await field.fill('lr<0.05 tag:ni')
  await page.getByRole('option', { name: 'tag:night' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await shows(page, ['best', 'middle'])
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('lr<0.05 tag:night')
  await page.getByRole('link', { name: 'Remove the filter tag:night' }).click()
  await shows(page, ['live', 'best', 'middle'])
  await field.fill('hots:box8 worst')
  await page.getByText('No recent batch has hots: did you mean host?').waitFor()
  await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
  await field.fill('(lr<0.05 OR host:box8')
  await page.getByRole('heading', { name: 'The query is not understood' }).waitFor()
  await page.getByText('This bracket is not closed (at character 1)').first().waitFor()
  expect(await order(page)).toEqual([])
  await field.fill('(lr<0.005 OR host:box8) NOT tag:day')
  await shows(page, ['best', 'worst'])
  await field.fill('nothing-is-called-that')
  await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
  await page.getByRole('link', { name: 'Clear the filters' }).click()
  await shows(page, ['live', 'best', 'worst', 'middle'])
  expect(complaints).toEqual([])
  await context.close()
})

test('rows do not move under the pointer: new rows and a new order are applied on request', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/p/tables?sort=min.val_loss')
  await shows(page, ['best', 'middle', 'live', 'worst'])
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await page.locator('[data-table]').hover()
  const better = { event_type: 'job_epoch', job_id: 'only', data: { epoch: 9, val_loss: 0.01 } }
  const [start] = batch('live', { lr: 0.02, loss: 0.7 })
  await send(web.app, web.reporter, [
    { ...(start as Event), ...better, event_id: crypto.randomUUID(), timestamp: new Date().toISOString() },
    ...batch('late', { lr: 0.5, loss: 0.6 }),
  ])
  const settle = page.locator('[data-settle]')
  await settle.filter({ hasText: 'would move: sort now' }).waitFor()
  expect((await order(page)).slice(0, 3)).toEqual(['best', 'middle', 'live'])
  await settle.click()
  await expect.poll(() => order(page)).toContain('late')
  await expect.poll(async () => (await order(page))[0]).toBe('live')
  await send(web.app, web.reporter, batch('later', { lr: 0.5, loss: 2 }))
  await settle.filter({ hasText: '1 new batch' }).waitFor()
  // The pointer has left it: the row is shown automatically.
  await page.mouse.move(5, 5)
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await expect.poll(() => order(page)).toContain('later')
  expect(complaints).toEqual([])
  await context.close()
})

test('selected batches can be tagged, shared and compared, and the tags undone', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/p/tables?q=host%3Abox7')
  await page.getByLabel('Select best').waitFor()
  const listed = (await order(page)).filter((id) => id === 'best' || id === 'middle')
  for (const id of listed.toReversed()) await page.getByLabel(`Select ${id}`).check()
  const bar = page.getByRole('toolbar', { name: 'Selected batches' })
  await bar.getByRole('button', { name: 'Tag' }).click()
  await page.getByLabel('Add tags').fill('paper keep')
  await page.getByLabel('night').check()
  await page.getByRole('button', { name: 'Change the tags' }).click()
  await page.getByText('Tags of 2 batches changed.').waitFor()
  const tags = async () =>
    (await web.app.call('GET', '/api/batches/best', { token: web.ada.token })).body.tags
  await expect.poll(tags).toEqual(['paper', 'keep'])
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(tags).toEqual(['night'])
  await bar.getByRole('button', { name: 'Share' }).click()
  await page.getByRole('button', { name: 'Make 2 links' }).click()
  const links = async () => (await page.getByLabel('Links').textContent()) ?? ''
  await expect.poll(async () => (await links()).match(/\/s\//g)?.length).toBe(2)
  await page.getByRole('button', { name: 'Close' }).click()
  await bar.getByRole('link', { name: 'Compare' }).click()
  await page.getByRole('heading', { name: 'Compare 2 jobs of 2 batches' }).waitFor()
  // In the order of the list, not of the clicks.
  const compared = page.getByRole('list', { name: 'Compared batches' }).getByRole('link')
  expect((await compared.allTextContents()).filter((text) => text !== '×')).toEqual(listed)
  expect(complaints).toEqual([])
  await context.close()
})

test('values are shown relative to a baseline, which is in the address and is removed by its chip', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(
    `/p/tables?q=host%3Abox7&sort=min.val_loss&cols=${encodeURIComponent('["min.val_loss","param.lr"]')}`,
  )
  await page.getByLabel('Select middle').check()
  await page
    .getByRole('toolbar', { name: 'Selected batches' })
    .getByRole('button', { name: 'Set as baseline' })
    .click()
  const row = (name: string) =>
    page.locator('[data-table] [data-row]', { has: page.getByRole('link', { name, exact: true }) })
  const delta = (name: string, column: string) =>
    row(name).locator(`[data-cell="${column}"] [data-delta]`).textContent()
  // 0.1 beside 0.5, and 0.001 beside 0.01: a lower loss is better, a parameter is neither.
  await expect.poll(() => delta('best', 'min.val_loss')).toBe('−80%, better')
  expect(await delta('best', 'param.lr')).toBe('−90%')
  await row('middle').waitFor()
  expect(await row('middle').locator('[data-delta]').count()).toBe(0)
  expect(await seriousFindings(page)).toEqual([])
  const other = await asAda()
  await other.page.goto(page.url())
  const chip = other.page.getByRole('link', { name: 'Remove Baseline: middle' })
  await chip.waitFor()
  await other.page.locator('[data-delta]').first().waitFor()
  await chip.click()
  await expect.poll(() => other.page.locator('[data-delta]').count()).toBe(0)
  expect(new URL(other.page.url()).searchParams.get('base')).toBe(null)
  expect([...complaints, ...other.complaints]).toEqual([])
  await context.close()
  await other.context.close()
})

function createSignal(): { given: Promise<void>; give: () => void } {
  let give = (): void => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

test('values stay if the answer to an earlier request with fewer columns arrives last', async () => {
  const { page, context } = await asAda()
  const [etaAsked, metricsShown] = [createSignal(), createSignal()]
  const asksOnlyEta = (text: string | null) => text?.includes('"columns":["eta"]') === true
  await page.route('**/graphql', async (route) => {
    const question = route.request().postData()
    if (asksOnlyEta(question)) {
      etaAsked.give()
      await metricsShown.given
      // Without the names of the metrics the table asks for the ETA alone.
    } else if (question?.includes('"fields":true')) await etaAsked.given
    await route.continue()
  })
  const late = page.waitForResponse((answer) => asksOnlyEta(answer.request().postData()))
  await page.goto('/p/tables')
  const cell = page.locator('[role=row]', { hasText: 'best' }).locator('[data-cell="min.val_loss"]')
  await expect.poll(() => cell.textContent()).toBe('0.1')
  metricsShown.give()
  await (await late).finished()
  // Two frames, in which the answer is drawn.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  await expect.poll(() => cell.textContent()).toBe('0.1')
  await context.close()
})

test('the default columns leave out a metric that no listed batch reports; a chosen column stays', async () => {
  const run = (id: string, values: Record<string, number>) => {
    const of = eventsOf(id, { project: 'mixed' })
    return [
      of('batch_start', 50, { n_total: 1, tags: [id] }),
      of('job_start', 49, {}, 'only'),
      of('job_epoch', 48, { epoch: 0, ...values }, 'only'),
    ]
  }
  await send(web.app, web.reporter, [...run('learned', { val_loss: 0.4 }), ...run('rewarded', { reward: 3 })])
  const { page, context } = await asAda()
  const head = page.getByRole('columnheader', { name: 'best val_loss' })
  await page.goto('/p/mixed?q=tag:rewarded')
  await shows(page, ['rewarded'])
  expect(await head.count()).toBe(0)
  await page.goto(`/p/mixed?q=tag:rewarded&cols=${encodeURIComponent('["min.val_loss"]')}`)
  await head.waitFor()
  await page.goto('/p/mixed')
  await head.waitFor()
  await context.close()
})

test('a list sorted by a field has a column for it, until it is sorted by another one', async () => {
  const { page, context, complaints } = await asAda({ width: 1440 })
  await page.goto('/p/tables?q=lr%3C0.015&sort=param.lr')
  await shows(page, ['best', 'middle'])
  const cells = page.locator('[data-cell="param.lr"]')
  await expect.poll(() => cells.allInnerTexts()).toEqual(['0.001', '0.01'])
  const head = page.getByRole('columnheader', { name: 'lr', exact: true })
  expect(await head.getAttribute('aria-sort')).toBe('ascending')
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByText('lr has a column while the list is sorted by it.').waitFor()
  await page.keyboard.press('Escape')
  // Beside charts the list has the same value.
  await page.getByRole('link', { name: 'Charts', exact: true }).click()
  const entries = page.getByRole('list', { name: 'Batches of the project' }).getByRole('listitem')
  await expect
    .poll(() => entries.locator('[data-cell="param.lr"]').allInnerTexts())
    .toEqual(['0.001', '0.01'])
  await page.getByRole('link', { name: 'Charts', exact: true }).click()
  // A phone has room for one column.
  await page.setViewportSize({ width: 390, height: 800 })
  await expect.poll(() => cells.allInnerTexts()).toEqual(['0.001', '0.01'])
  expect(await page.locator('[data-cell="progress"]').first().isVisible()).toBe(false)
  await page.getByRole('button', { name: 'Batch', exact: true }).click()
  await page.locator('[data-cell="progress"]').first().waitFor()
  await expect.poll(() => cells.count()).toBe(0)
  expect(complaints).toEqual([])
  await context.close()
})

test('j and k move between rows, x selects one, / goes to the query', async () => {
  const { page, context } = await asAda()
  await page.goto('/p/tables?sort=id')
  await page.getByRole('link', { name: 'best', exact: true }).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('late')
  await page.keyboard.press('k')
  await page.keyboard.press('x')
  await page.getByText('1 selected').waitFor()
  await expect.poll(() => page.getByLabel('Select best').isChecked()).toBe(true)
  await page.keyboard.press('/')
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
    .toBe('Search batches')
  await context.close()
})

test('a phone shows status, name and progress, without scrolling sideways', async () => {
  const { page, context } = await asAda({ width: 390 })
  await page.goto('/p/tables')
  await page.getByRole('link', { name: 'best', exact: true }).waitFor()
  await page.locator('[data-cell="progress"]').first().waitFor()
  expect(await page.locator('[data-cell="owner"]').first().isVisible()).toBe(false)
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  await context.close()
})

test('a list has ETAs only while one of its batches is running', async () => {
  const of = eventsOf('soon-over', { project: 'etas' })
  await send(web.app, web.reporter, [of('batch_start', 20, { n_total: 1 })])
  const { page, context, complaints } = await web.asAda({ width: 1440 })
  await page.goto('/p/etas')
  const eta = page.getByRole('columnheader', { name: 'ETA' })
  await eta.waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await send(web.app, web.reporter, [of('batch_done', 1)])
  await eta.waitFor({ state: 'detached' })
  await page.getByRole('columnheader', { name: 'Progress' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the breadcrumb and the title of a tab name the page of a project', async () => {
  const { page, context } = await web.asAda()
  const path = page.getByRole('navigation', { name: 'Breadcrumb' })
  for (const [address, name] of [
    ['rules', 'Rules'],
    ['members', 'Members'],
  ]) {
    await page.goto(`/p/tables/${address}`)
    await path.getByText(name ?? '', { exact: true }).waitFor()
    await expect.poll(() => page.title()).toBe(`${name} · tables · Experiment monitor`)
  }
  await page.goto('/p/tables')
  await expect.poll(() => page.title()).toBe('tables · Experiment monitor')
  await context.close()
})
