import { expect, test } from 'vitest'
import { insertName, suggestedNames } from '../../web/src/comments/mention-text.ts'
import { type Account, pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

// Comments on batches and reports, and the bell.

const ID = 'talked'
let bob: Account

const web = pageFixture(async ({ app, reporter, ada }) => {
  const of = eventsOf(ID)
  await send(app, reporter, [of('batch_start', 60, { n_total: 1 }), of('job_start', 60, {}, 'main')])
  bob = await app.register('bob@example.org')
  await app.letIn('digits', ada, bob, 'member')
})

test.each([
  ['hello @b', ['bob', 'bea lang']],
  ['hello @bea l', ['bea lang']],
  ['hello @bob', []],
  ['mail me@b', []],
  ['@', ['ada', 'bob', 'bea lang']],
])('behind %j it suggests %j', (text, names) => {
  expect(suggestedNames(text, text.length, ['ada', 'bob', 'bea lang'])).toEqual(names)
})

test('a name is completed where the caret is', () => {
  expect(insertName('so @be is right', 6, 'Bea Lang')).toEqual({ text: 'so @Bea Lang is right', caret: 13 })
})

test('a comment reaches whom it mentions by the bell, on the other pages at once', async () => {
  const [hers, his] = await Promise.all([web.asAda(), web.as(bob)])
  await his.page.goto('/')
  const bell = his.page.getByRole('button', { name: /^Notices/ })
  await his.page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  expect(await bell.getAttribute('aria-label')).toBe('Notices')

  await hers.page.goto(`/b/${ID}/comments`)
  const field = hers.page.getByLabel('New comment')
  await field.fill('It **diverges**, @bo')
  await hers.page.getByRole('button', { name: '@bob' }).click()
  await hers.page.getByRole('button', { name: 'Comment', exact: true }).click()
  const hers1 = hers.page.getByRole('listitem', { name: 'Comment by ada' })
  await hers1.locator('strong', { hasText: 'diverges' }).waitFor()
  await hers1.getByText('Mentions bob').waitFor()
  expect(await field.inputValue()).toBe('')

  await his.page.getByRole('button', { name: 'Notices, 1 unread one' }).click()
  const list = his.page.getByRole('dialog', { name: 'Notices' })
  await list.getByText('ada mentions you on').waitFor()
  expect(await seriousFindings(his.page)).toEqual([])
  await list.getByRole('link', { name: /ada mentions you/ }).click()
  await his.page.waitForURL(`**/b/${ID}/comments`)
  await his.page.getByRole('button', { name: 'Notices', exact: true }).waitFor()

  await his.page.getByLabel('New comment').fill('The warm-up is too short')
  await his.page.getByRole('button', { name: 'Comment', exact: true }).click()
  await hers.page.locator('[data-markdown]', { hasText: 'The warm-up is too short' }).waitFor()
  await hers.page.getByRole('button', { name: /^Notices, 1 unread/ }).click()
  await hers.page.getByRole('button', { name: 'Mark all as read' }).click()
  await hers.page.getByRole('button', { name: 'Notices', exact: true }).waitFor()
  expect(await seriousFindings(hers.page)).toEqual([])
  for (const { complaints } of [hers, his]) expect(complaints).toEqual([])
  await Promise.all([hers.context.close(), his.context.close()])
})

test('authors edit and delete their words; a report has comments below its text', async () => {
  const report = { title: 'Findings', body: 'Text', project: 'digits' }
  const made = await web.app.call('POST', '/api/reports', { token: web.ada.token, body: report })
  const { page, context, complaints } = await web.asAda({ width: 390 })
  await page.goto(`/r/${made.body.id}`)
  await page.getByLabel('New comment').fill('First')
  await page.getByLabel('New comment').press('Control+Enter')
  const comment = page.getByRole('listitem', { name: 'Comment by ada' })
  await comment.locator('[data-markdown]', { hasText: 'First' }).waitFor()
  await comment.getByRole('button', { name: 'Edit' }).click()
  await comment.getByLabel('Your comment').fill('Second')
  await comment.getByRole('button', { name: 'Save' }).click()
  await comment.locator('[data-markdown]', { hasText: 'Second' }).waitFor()
  await comment.getByText('edited').waitFor()
  await comment.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No comments yet.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a person chooses what the bell has', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/account')
  const mail = page.getByLabel('Mail when a comment mentions me')
  await mail.uncheck()
  const chosen = () => web.app.call('GET', '/api/notices/choices', { token: web.ada.token })
  await expect.poll(async () => (await chosen()).body.mention_mail).toBe(false)
  await page.reload()
  await expect.poll(() => mail.isChecked()).toBe(false)
  expect(complaints).toEqual([])
  await context.close()
})

test('choices that wait for their answers all stay as they were clicked', async () => {
  const { page, context } = await web.asAda()
  const held: (() => void)[] = []
  await page.route('**/api/notices/choices', async (route) => {
    if (route.request().method() !== 'GET') await new Promise<void>((go) => held.push(go))
    await route.continue()
  })
  await page.goto('/account')
  const [rules, mentions] = ['Rules that send me messages', 'Comments that mention me'].map((text) =>
    page.getByLabel(text),
  )
  await rules?.click()
  await mentions?.click()
  await expect.poll(() => held.length).toBe(2)
  const shown = () => Promise.all([rules?.isChecked(), mentions?.isChecked()])
  expect(await shown()).toEqual([false, false])
  const answered = page.waitForResponse('**/api/notices/choices')
  held[0]?.()
  await answered
  // The answer is drawn by then.
  await page.evaluate(() => new Promise((drawn) => setTimeout(drawn, 200)))
  expect(await shown()).toEqual([false, false])
  held[1]?.()
  const chosen = async () =>
    (await web.app.call('GET', '/api/notices/choices', { token: web.ada.token })).body
  await expect.poll(chosen).toMatchObject({ rules: false, mentions: false })
  await context.close()
})
