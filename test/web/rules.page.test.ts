import type { Page } from '@playwright/test'
import { afterAll, expect, test } from 'vitest'
import { startTestApp } from '../kit/app.ts'
import { ANY_MAIL, type Mailbox, mailSent, openMailbox } from '../notifications/mailbox.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, sendRanBatch, settled } from './ran-batch.ts'
import { send, seriousFindings, visit } from './visit.ts'

let box: Mailbox
let eve: { token: string; cookie: string; email: string }
const BATCH = 'night-sweep'
const RULES = '/p/digits/rules'

const web = pageFixture(
  async ({ app, ada, reporter }) => {
    eve = await app.register('eve@example.org')
    await sendRanBatch(app, reporter, BATCH)
    await app.letIn('digits', ada, eve, 'member')
  },
  {
    config: async () => {
      box = await openMailbox()
      return { smtp: { url: box.url, from: 'Monitor <monitor@example.org>' }, mail: ANY_MAIL }
    },
  },
)
afterAll(() => box?.stop())

const { as } = web
const rules = async (): Promise<Record<string, unknown>[]> =>
  (await web.app.call('GET', `/api/projects/digits/rules`, { token: web.ada.token })).body.items
const makeRule = async (body: Record<string, unknown>): Promise<string> =>
  (await web.app.call('POST', '/api/projects/digits/rules', { token: web.ada.token, body })).body.id
const row = (page: Page, name: string) => page.getByRole('listitem').filter({ hasText: name })

test('the owner creates a rule on a metric: the key is completed, the preview counts, the rule sends mail', async () => {
  const { page, context, complaints } = await as(web.ada)
  await page.goto('/p/digits')
  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByText('No rules yet').waitFor()
  await page.getByRole('button', { name: 'New rule' }).click()
  const form = page.getByRole('dialog')
  // What fits the trigger is offered with it.
  await expect.poll(() => form.getByLabel('After a mail, send none for').inputValue()).toBe('600')
  await form.getByText(/It would have mailed 1 time in the last 7 days/).waitFor()
  await form.getByLabel('Mail when').selectOption('metric')
  await form.getByRole('button', { name: 'Make the rule' }).click()
  await form.getByText('Enter the series to watch.').waitFor()
  await expect.poll(() => form.locator('datalist option[value="val_loss"]').count()).toBe(1)
  await form.getByLabel('Series').fill('val_loss')
  await form.getByLabel('Comparison').selectOption('>')
  await form.getByLabel('Value').fill('1.5')
  await form.getByLabel('After a mail, send none for').selectOption('0')
  await form.getByText(/It would have mailed 2 times/).waitFor()
  await form.getByLabel('Value').fill('2.5')
  await form.getByText(/It would have mailed 1 time /).waitFor()
  await form.getByLabel('Value').fill('99')
  await form.getByText(/It would have mailed 0 times/).waitFor()
  await form.getByLabel('Name, shown in the mail').fill('exploded')
  await form.getByText('only these addresses').click()
  await form.getByLabel('Recipients of the rule: another address').fill('team@example.org')
  await form.getByRole('button', { name: 'Make the rule' }).click()
  await page.getByText('“exploded” is made, and is on.').waitFor()
  await row(page, 'exploded').getByText('val_loss > 99').waitFor()
  expect(await rules()).toMatchObject([
    {
      name: 'exploded',
      trigger: 'metric',
      condition: { key: 'val_loss', op: '>', value: 99 },
      recipients: ['team@example.org'],
      cooldown_s: 0,
      enabled: true,
    },
  ])
  const of = eventsOf(BATCH)
  await send(web.app, web.reporter, [of('job_epoch', 1, { epoch: 30, val_loss: 100 }, 'good')])
  await mailSent(web.app.sql)
  expect(box.to('team@example.org')).toHaveLength(1)
  expect(complaints).toEqual([])
  await context.close()
})

test('a rule can be edited, tested and deleted, and the delete undone', async () => {
  await makeRule({ trigger: 'batch_done', name: 'finished' })
  const { page, context } = await as(web.ada)
  await page.goto(RULES)
  await page.getByRole('button', { name: 'Change finished' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Mail when').selectOption('job_failed')
  await form.getByLabel('After a mail, send none for').selectOption('3600')
  await form.getByRole('button', { name: 'Save' }).click()
  await row(page, 'finished').getByText('When a job fails, at most one mail in 1 h').waitFor()
  await page.getByRole('button', { name: 'Send a test mail of finished' }).click()
  await page.getByText(/A test mail of “finished” is on its way to the project’s owner/).waitFor()
  await mailSent(web.app.sql)
  await expect.poll(() => box.to(web.ada.email).length).toBe(1)
  await page.getByRole('button', { name: 'Delete finished' }).click()
  await page.getByRole('button', { name: 'Delete it' }).click()
  await row(page, 'finished').waitFor({ state: 'detached' })
  await expect.poll(async () => (await rules()).filter((rule) => rule.name === 'finished')).toEqual([])
  await page.getByRole('button', { name: 'Undo' }).click()
  await row(page, 'finished').waitFor()
  expect((await rules()).find((rule) => rule.name === 'finished')).toMatchObject({ cooldown_s: 3600 })
  await context.close()
})

test('a rule without a name is named by its trigger', async () => {
  const project = 'nameless'
  await send(web.app, web.reporter, [eventsOf('nameless-run', { project })('batch_start', 1, { n_total: 1 })])
  const make = (body: Record<string, unknown>) =>
    web.app.call('POST', `/api/projects/${project}/rules`, { token: web.ada.token, body })
  await make({ trigger: 'job_failed', cooldown_s: 600 })
  await make({ trigger: 'metric', condition: { key: 'val_loss', op: '>', value: 2 } })
  const { page, context } = await as(web.ada)
  await page.goto(`/p/${project}/rules`)
  const listed = page.getByRole('list', { name: 'Rules of the project' }).getByRole('listitem')
  await expect.poll(() => listed.locator('p').first().innerText()).toBe('When a job fails')
  await listed.first().getByText('at most one mail in 10 min').waitFor()
  await expect.poll(() => listed.last().locator('p').first().innerText()).toBe('When val_loss > 2')
  expect(await page.locator('main').innerText()).not.toContain('job_failed')
  await page.getByRole('button', { name: 'Change When a job fails' }).click()
  const form = page.getByRole('dialog', { name: 'Change “When a job fails”' })
  expect(await form.getByLabel('Name, shown in the mail').inputValue()).toBe('')
  await context.close()
})

test('the switch changes at once, and changes back with the reason if it is refused', async () => {
  const id = await makeRule({ trigger: 'job_idle', name: 'idle' })
  const { page, context } = await as(web.ada)
  await page.goto(RULES)
  const on = page.getByRole('switch', { name: 'idle is on' })
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  await page.route(`**/api/rules/${id}`, async (route) => {
    await answered
    await route.continue()
  })
  await on.click()
  await expect.poll(() => on.getAttribute('aria-checked')).toBe('false')
  answer()
  await expect.poll(async () => (await rules()).find((rule) => rule.id === id)?.enabled).toBe(false)
  await page.unroute(`**/api/rules/${id}`)
  await web.app.call('DELETE', `/api/rules/${id}`, { token: web.ada.token })
  await on.click()
  await page.getByText(/“idle” was not switched on: No such rule/).waitFor()
  await expect.poll(() => on.getAttribute('aria-checked')).toBe('false')
  await context.close()
})

test('the recipients of the project are added one by one; an invalid address is refused', async () => {
  const { page, context } = await as(web.ada)
  await page.goto(RULES)
  const field = page.getByLabel('Recipients of the project: another address')
  await field.fill('unknown')
  await field.press('Enter')
  await page.getByText('“unknown” is no mail address').waitFor()
  await field.fill('night@example.org')
  await field.press('Enter')
  const list = page.getByRole('list', { name: 'Recipients of the project' })
  await list.getByText('night@example.org').waitFor()
  const set = async () =>
    (await web.app.call('GET', '/api/projects/digits', { token: web.ada.token })).body.recipients
  await expect.poll(set).toEqual(['night@example.org'])
  await page.getByRole('button', { name: 'Remove night@example.org' }).click()
  await page.getByText(/None are set, so mail goes to the owner/).waitFor()
  await expect.poll(set).toEqual([])
  await context.close()
})

test('other users read who can see the rules, and make rules of their own', async () => {
  const { page, context, complaints } = await as(eve)
  await page.goto('/p/digits')
  await page.getByRole('link', { name: 'Members' }).waitFor()
  await page.getByRole('link', { name: 'Rules' }).click()
  await page.getByText(/Only the owner of this project, .*, and administrators see its rules/).waitFor()
  expect(await page.getByRole('button', { name: 'New rule', exact: true }).count()).toBe(0)
  await page.getByRole('button', { name: 'Add my rule' }).click()
  const dialog = page.getByRole('dialog', { name: 'My new rule' })
  await dialog.getByRole('checkbox', { name: 'Quiet hours' }).check()
  await dialog.getByLabel('from').fill('23:30')
  await dialog.getByRole('button', { name: 'Make the rule' }).click()
  const list = page.getByRole('list', { name: 'My rules for the project' })
  await list.getByText(/My runs only · Quiet 23:30–07:00/).waitFor()
  expect((await rules()).filter((rule) => rule.personal)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('without a mail server the page says that mails are only logged, and what to set', async () => {
  const silent = await startTestApp()
  const person = await silent.register('ada@example.org')
  await silent.call('POST', '/api/projects', { token: person.token, body: { slug: 'quiet' } })
  await silent.call('POST', '/api/projects/quiet/rules', {
    token: person.token,
    body: { trigger: 'batch_done', name: 'done' },
  })
  const { page, context } = await visit(web.browser, { address: silent.address, cookie: person.cookie })
  await page.goto('/p/quiet/rules')
  await page.getByText(/No mail server is set.*SVC_SMTP_URL/).waitFor()
  await page.getByRole('button', { name: 'Send a test mail of done' }).click()
  await page.getByText(/was only written to the service’s log: no mail server is set/).waitFor()
  await context.close()
  await silent.stop()
})

test('a batch is muted from its header, and by Undo it is not', async () => {
  const { page, context } = await as(web.ada)
  await page.goto(`/b/${BATCH}`)
  const muted = async () =>
    (await web.app.call('GET', `/api/batches/${BATCH}/mute`, { token: web.ada.token })).body.muted
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitemcheckbox', { name: /^Mute/, checked: false }).click()
  await page.getByText('Muted: rules send no mail about this batch.').waitFor()
  await expect.poll(muted).toBe(true)
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitemcheckbox', { name: /^Mute/, checked: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(muted).toBe(false)
  await context.close()
})

test('the unsubscribe page of a mail stops and resumes mails without a sign-in, under the content security policy, in both themes', async () => {
  await makeRule({ trigger: 'job_failed', name: 'any failure', recipients: ['foot@example.org'] })
  const of = eventsOf('foot')
  await send(web.app, web.reporter, [
    of('job_start', 2, {}, 'a'),
    of('job_failed', 1, { reason: 'out of memory' }, 'a'),
  ])
  await mailSent(web.app.sql)
  const link = /https?:\/\/[^/\s]+(\/mail\/\S+)/.exec(
    box.to('foot@example.org')[0]?.mail.text ?? '',
  )?.[1] as string
  for (const theme of ['light', 'dark'] as const) {
    const { page, context, complaints } = await visit(web.browser, {
      address: web.app.address,
      theme,
      width: 390,
    })
    await page.goto(link)
    await page.getByText('nothing has changed yet').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'No more mail of the rule “any failure”' }).click()
    await page.getByText('You get no mail of the rule “any failure” any more.').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Send me all mail of the project again' }).click()
    await page.getByText('nothing has changed yet').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  }
})

test('the palette finds a job of a batch that was not opened', async () => {
  const { page, context, complaints } = await as(web.ada)
  await page.goto('/tokens')
  await page.getByRole('button', { name: 'Search' }).click()
  const field = page.getByRole('combobox', { name: /^Search projects/ })
  await field.waitFor()
  // Not the button that closes.
  await expect.poll(() => field.evaluate((one) => one === document.activeElement)).toBe(true)
  await page.keyboard.type('gone')
  await page.getByRole('option', { name: /gone.*job/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`/b/${BATCH}/j/gone`)
  expect(complaints).toEqual([])
  await context.close()
})

test('Rerun on the home page opens the dialog with the exact command there', async () => {
  const { page, context } = await as(web.ada)
  await page.goto('/')
  await page.getByRole('button', { name: `Rerun: ${BATCH}` }).click()
  const dialog = page.getByRole('dialog', { name: `Rerun ${BATCH}?` })
  await dialog.getByText('python train.py --lr 0.1').waitFor()
  await dialog.getByText('/home/ada/digits').waitFor()
  expect(new URL(page.url()).pathname).toBe('/')
  await context.close()
})

test('the page of a job follows it: its epochs, its last values and its end', async () => {
  const of = eventsOf('followed')
  await send(web.app, web.reporter, [
    of('batch_start', 60, { experiment_type: 'train', n_total: 1 }),
    of('job_start', 59, { lr: 0.1 }, 'only'),
    of('job_epoch', 50, { epoch: 0, val_loss: 0.5 }, 'only'),
  ])
  const { page, context, complaints } = await as(web.ada)
  await page.goto('/b/followed/j/only')
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  const points = page.locator('[data-chart="val_loss"] [data-points]')
  await points.filter({ hasText: '1 of 1 points' }).waitFor()
  await send(web.app, web.reporter, [of('job_epoch', 1, { epoch: 1, val_loss: 0.1234 }, 'only')])
  await points.filter({ hasText: '2 of 2 points' }).waitFor()
  await page.getByText('0.1234').first().waitFor()
  await send(web.app, web.reporter, [of('job_failed', 0, { reason: 'disk is full' }, 'only')])
  await page.getByText('disk is full').first().waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test.each(['light', 'dark'] as const)('axe finds nothing serious in %s colours', async (theme) => {
  await makeRule({ trigger: 'agent_offline', name: `away in ${theme}`, enabled: false })
  const { page, context, complaints } = await as(web.ada, { theme })
  await page.goto(RULES)
  await row(page, `away in ${theme}`).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByLabel('Mail when').selectOption('metric')
  await page.getByText('only these addresses').click()
  expect(await seriousFindings(page)).toEqual([])
  await page.goto('/p/digits/members')
  await settled(page)
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('the rules and their form fit a phone', async () => {
  const { page, context } = await as(web.ada, { width: 390 })
  await page.goto(RULES)
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByLabel('Mail when').selectOption('metric')
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await context.close()
})

test('the owner of a project sees which addresses are not confirmed yet, and can send the request again', async () => {
  const { page, context } = await as(web.ada)
  await page.goto(RULES)
  await page.getByLabel('Recipients of the project: another address').fill('team@elsewhere.example')
  await page.keyboard.press('Enter')
  const waiting = page
    .getByRole('list', { name: 'Addresses that are not confirmed' })
    .getByRole('listitem')
    .filter({ hasText: 'team@elsewhere.example' })
  await waiting.getByText('unconfirmed, asked').waitFor()
  const again = page.getByRole('button', { name: 'Send the confirmation to team@elsewhere.example again' })
  await again.click()
  await page.getByText(/No confirmation was sent to team@elsewhere.example: Too many attempts/).waitFor()
  const confirmations = () => box.aboutAccounts.filter((one) => one.to.includes('team@elsewhere.example'))
  await expect.poll(() => confirmations().length).toBe(1)
  const link = /\/verify\/[\w-]{43}/.exec(confirmations()[0]?.mail.text ?? '')?.[0] as string
  await page.goto(link)
  await page.getByRole('button', { name: 'Confirm this address' }).click()
  await page.getByRole('heading', { name: 'Address confirmed' }).waitFor()
  await page.goto(RULES)
  await page.getByRole('heading', { name: 'Recipients of the project' }).waitFor()
  await waiting.waitFor({ state: 'detached' })
  await context.close()
})
