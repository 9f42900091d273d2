import { afterAll, expect, test } from 'vitest'
import { openReceiver, type Receiver } from '../notifications/receiver.ts'
import { pageFixture } from './page-fixture.ts'
import { sendRanBatch } from './ran-batch.ts'
import { seriousFindings } from './visit.ts'

let receiver: Receiver
const web = pageFixture(({ app, reporter }) => sendRanBatch(app, reporter, 'night-sweep'), {
  config: async () => {
    receiver = await openReceiver()
    return { webhookPrivate: true }
  },
})
afterAll(() => receiver?.stop())

test('channels are added in the form, tested, and their messages are sent again', async () => {
  const { page, context, complaints } = await web.as(web.ada)
  await page.goto('/p/digits/rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Add a channel').selectOption('slack')
  await form.getByLabel('Add a channel').selectOption('webhook')
  await form.getByLabel('Send mail').uncheck()
  await form.getByRole('button', { name: 'Make the rule' }).click()
  await expect.poll(() => form.getByText('Enter the URL.').count()).toBe(2)
  await form.getByLabel('Webhook URL of Slack 1').fill(`${receiver.url}/slack/secret`)
  await form.getByLabel('URL of Webhook 2', { exact: true }).fill(`${receiver.url}/hook`)
  await form.getByLabel('Name, shown in the mail').fill('to chats')
  await page.mouse.move(0, 0)
  expect(await seriousFindings(page)).toEqual([])
  await form.getByRole('button', { name: 'Make the rule' }).click()
  const secret = page.getByRole('dialog', { name: 'Secret of the webhook' })
  await secret.getByText(/^whsec_/).waitFor()
  await secret.getByRole('button', { name: 'Done' }).click()

  receiver.answers.set('/hook', [{ status: 410, body: 'this hook was removed' }])
  await page.getByRole('button', { name: 'Send a test message of to chats' }).click()
  await expect.poll(() => receiver.at('/hook').length, { timeout: 20_000 }).toBe(1)
  await page.getByRole('button', { name: 'Messages of to chats' }).click()
  const log = page.getByRole('dialog')
  await expect
    .poll(
      async () => {
        await log.getByRole('button', { name: 'Refresh' }).click()
        return [await log.getByText('refused').count(), await log.getByText('sent', { exact: true }).count()]
      },
      { timeout: 20_000 },
    )
    .toEqual([1, 1])
  await log.getByText('Answer').first().click()
  await log.getByText('this hook was removed').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await log.getByRole('button', { name: /hook$/ }).click()
  await expect.poll(() => receiver.at('/hook').length, { timeout: 20_000 }).toBe(2)
  await log.getByText('What it sends').click()
  const messages = log.getByRole('list', { name: 'The message in each channel' })
  await messages.getByText('Slack').waitFor()
  await messages.getByText(/"type": "test"/).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await log.getByRole('button', { name: 'Close', exact: true }).last().click()

  await page.getByRole('button', { name: 'Change to chats' }).click()
  await form.getByLabel('Webhook URL of Slack 1').waitFor()
  await form.getByRole('button', { name: 'Remove Webhook 2' }).click()
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('“to chats” is saved.').waitFor()
  const { items } = (await web.app.call('GET', '/api/projects/digits/rules', { token: web.ada.token })).body
  expect(items[0].channels.map(({ kind, url }: { kind: string; url: string }) => [kind, url])).toEqual([
    ['slack', `${receiver.url}/…`],
  ])
  expect(complaints).toEqual([])
  await context.close()
})
