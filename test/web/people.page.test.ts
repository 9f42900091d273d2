import { expect, test } from 'vitest'
import { PASSWORD } from '../kit/app.ts'
import { type Account, type Look, pageFixture } from './page-fixture.ts'
import { recordedSweep, send, seriousFindings } from './visit.ts'

// Who may do what: members of a project, accounts, tokens and links, and what those read who may not.

/** Ada owns `digits`; Eve has no project. */
let eve: Account
const SHARED = 'sweep-shared'
const web = pageFixture(
  async ({ app, reporter }) => {
    eve = await app.register('eve@example.org')
    await send(app, reporter, recordedSweep(SHARED).slice(0, 60))
  },
  { accounts: ['root', 'ada'] },
)
const as = (account: Account | null, look?: Look) =>
  account === null ? web.signedOut(look) : web.as(account, look)
const membersNow = async () =>
  (await web.app.call('GET', '/api/projects/digits/members', { token: web.ada.token })).body.items.map(
    (one: { name: string; role: string }) => `${one.name}: ${one.role}`,
  )

test('the owner of a project invites a user who accepts, changes the role in the list, and confirms before removing', async () => {
  const { page, context, complaints } = await as(web.ada)
  await page.goto('/p/digits/members')
  await page.getByLabel('E-mail address of the account').fill('eve@example.org')
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  // Nothing proves whose account it is: the page asks.
  await page.getByRole('dialog').getByText('anyone may have registered it').waitFor()
  await page.getByRole('button', { name: 'I checked: invite' }).click()
  await page.getByText('member, has not accepted yet').waitFor()
  expect(await membersNow()).toEqual(['ada: owner'])

  // Withdrawn, it is gone for the person; sent again, it is on each of their pages.
  await page.getByRole('button', { name: 'Withdraw the invitation of eve' }).click()
  await page.getByText('member, has not accepted yet').waitFor({ state: 'detached' })
  const invited = await as(eve)
  await invited.page.goto('/')
  await page.getByLabel('E-mail address of the account').fill('eve@example.org')
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.getByRole('button', { name: 'I checked: invite' }).click()
  await page.getByText('member, has not accepted yet').waitFor()
  await invited.page.goto('/account')
  await invited.page.getByText('ada invites you to digits as a member.').waitFor()
  await invited.page.getByText('eve@example.org is not verified.').waitFor()
  await invited.page.getByRole('button', { name: 'Accept the invitation to digits' }).click()
  await invited.page.getByText('You are a member of digits now.').waitFor()
  await invited.page.getByRole('list', { name: 'Invitations' }).waitFor({ state: 'detached' })
  await invited.context.close()
  await page.reload()
  const role = page.getByLabel('Role of eve')
  await expect.poll(() => role.inputValue()).toBe('member')
  await role.selectOption('viewer')
  await expect.poll(membersNow).toContain('eve: viewer')
  // The service has it before the page has read it again.
  await page.reload()
  await expect.poll(() => role.inputValue()).toBe('viewer')

  // Refused: it is put back, and said why.
  await page.route('**/api/projects/digits/members', (route) => route.abort())
  await role.selectOption('member')
  await page.getByText('eve is still a viewer: The server cannot be reached. Nothing was changed.').waitFor()
  expect(await role.inputValue()).toBe('viewer')
  await page.unroute('**/api/projects/digits/members')

  await page.getByRole('button', { name: 'Remove eve' }).click()
  await page.getByText('They no longer see it from now on.').waitFor()
  await page.keyboard.press('Escape')
  expect(await membersNow()).toContain('eve: viewer')
  await page.getByRole('button', { name: 'Remove eve' }).click()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await role.waitFor({ state: 'detached' })
  expect(await membersNow()).toEqual(['ada: owner'])
  // The question whether it is they comes of a refusal, which browsers log.
  expect(complaints.filter((one) => !/ERR_FAILED|409/.test(one))).toEqual([])
  await context.close()
})

test('a project can be renamed, and becomes public only after a confirmation; a stranger can then read it, but not its members', async () => {
  const { page, context } = await as(web.ada)
  const stranger = await as(eve)
  await stranger.page.goto('/p/digits')
  await stranger.page.getByText('No such project').waitFor()
  // What may not be followed is not followed: nothing is offline.
  await stranger.page.waitForTimeout(2_500)
  expect(await stranger.page.locator('[data-stream]').textContent()).toBe('live')

  await page.goto('/p/digits/members')
  await page.getByLabel('Display name').fill('Handwritten digits')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { name: 'Members of Handwritten digits' }).waitFor()
  await page.getByRole('button', { name: 'Make it public' }).click()
  const visibility = async () =>
    (await web.app.call('GET', '/api/projects/digits', { token: web.ada.token })).body.visibility
  expect(await visibility()).toBe('private')
  await page.getByRole('dialog').getByRole('button', { name: 'Make it public' }).click()
  await page.getByText('anyone may read it').waitFor()
  expect(await visibility()).toBe('public')

  await stranger.page.goto('/p/digits/members')
  await stranger.page.getByText('Only members of this project see its members').waitFor()
  const signedOut = await as(null)
  await signedOut.page.goto('/p/digits/members')
  await signedOut.page.getByRole('link', { name: 'Sign in to see it' }).click()
  await signedOut.page.waitForURL('/sign-in?return_to=%2Fp%2Fdigits%2Fmembers')
  for (const one of [context, stranger.context, signedOut.context]) await one.close()
})

test('an administrator confirms before an account is disabled or becomes administrator, also on a phone', async () => {
  const { page, context, complaints } = await as(web.admin, { width: 390 })
  await page.goto('/admin')
  await page.waitForURL('/admin/users')
  await page.getByRole('table').waitFor()
  const over = () =>
    page.locator('section[aria-label="Users"]').evaluate((box) => box.scrollWidth - box.clientWidth)
  expect(await over()).toBe(0)
  const of = async (email: string) =>
    (await web.app.call('GET', '/api/admin/users', { token: web.admin.token })).body.items.find(
      (user: { email: string }) => user.email === email,
    )
  await page.getByLabel('Role of eve').selectOption('admin')
  await page.getByRole('dialog').getByRole('button', { name: 'Leave it' }).click()
  await expect.poll(() => page.getByLabel('Role of eve').inputValue()).toBe('user')
  await page.getByRole('button', { name: 'Disable eve' }).click()
  await page.getByText('events that scripts send with them are refused').waitFor()
  expect((await of('eve@example.org')).disabled).toBe(false)
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Enable eve' }).click()
  await page.getByRole('button', { name: 'Disable eve' }).waitFor()
  expect(await of('eve@example.org')).toMatchObject({ disabled: false, role: 'user' })
  expect(complaints).toEqual([])
  await context.close()
})

test('every administration page refuses users who are not administrators', async () => {
  const { page, context, complaints } = await as(web.ada)
  for (const path of ['users', 'agents', 'keys', 'audit']) {
    await page.goto(`/admin/${path}`)
    await page.getByText('Only administrators see this page').waitFor()
    expect(await page.getByRole('button', { name: 'Sign with a new key' }).count()).toBe(0)
  }
  expect(complaints).toEqual([])
  await context.close()
})

test('a token and a link that are shown once are hidden after they were revoked', async () => {
  const { page, context, complaints } = await as(web.ada)
  await page.goto('/tokens')
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Make a token' }).click()
  const token = (await page.locator('[data-token]').textContent()) ?? ''
  await page.getByRole('button', { name: 'Revoke laptop' }).click()
  await page.getByRole('button', { name: 'Revoke it' }).click()
  await page.locator('[data-token]').waitFor({ state: 'detached' })
  expect((await web.app.call('POST', '/api/events', { token: token.trim(), body: {} })).status).toBe(401)

  await page.goto(`/b/${SHARED}`)
  await page.getByRole('button', { name: 'Share' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Make a link' }).click()
  const url = ((await page.locator('[data-share-url]').textContent()) ?? '').trim()
  const reader = await as(null)
  await reader.page.goto(url)
  await reader.page.getByRole('heading', { name: SHARED }).waitFor()
  expect(await reader.page.title()).toBe(`${SHARED} · shared batch`)
  await dialog.getByText('The link above').waitFor()
  await dialog.getByRole('button', { name: /^Revoke the link made/ }).click()
  // Asked, with the answer that changes nothing at hand.
  await dialog.getByText('Open pages lose access immediately').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: /^Revoke the link made/ }).click()
  await dialog.getByRole('button', { name: 'Revoke it' }).click()
  await page.locator('[data-share-url]').waitFor({ state: 'detached' })
  await reader.page.getByText('This link is no longer valid').waitFor()
  expect(complaints).toEqual([])
  await context.close()
  await reader.context.close()
})

test('a link can be copied without the clipboard API, as over plain HTTP, also in a dialog', async () => {
  const { page, context } = await as(web.ada)
  await page.addInitScript(() =>
    Object.defineProperty(Navigator.prototype, 'clipboard', { get: () => undefined }),
  )
  await page.goto(`/b/${SHARED}`)
  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByRole('button', { name: 'Make a link' }).click()
  const url = ((await page.locator('[data-share-url]').textContent()) ?? '').trim()
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByLabel('Find series by regular expression').focus()
  await page.keyboard.press('Control+v')
  await expect.poll(() => page.getByLabel('Find series by regular expression').inputValue()).toBe(url)
  await context.close()
})

test('the return address survives a registration; signed-in users are not asked to sign in', async () => {
  const { page, context } = await as(null)
  await page.goto('/tokens')
  await page.getByRole('link', { name: 'Register' }).click()
  // The fields of both pages are called the same.
  await page.getByRole('heading', { name: 'Register' }).waitFor()
  await page.getByLabel('E-mail address').fill('new@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Register' }).click()
  await page.waitForURL('/tokens')
  await page.goto('/sign-in?return_to=%2Faccount')
  await page.waitForURL('/account')
  await page.goto('/register')
  await page.waitForURL('/')
  await context.close()
})

test('too many attempts show how long to wait', async () => {
  const { page, context } = await as(null)
  await page.goto('/sign-in')
  await page.getByLabel('E-mail address').fill('mallory@example.org')
  await page.getByLabel('Password').fill('a guess')
  const tooMany = page.getByText(/^Too many attempts. Try again in \d+ seconds?\.$/)
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: 'Sign in' }).click()
      return tooMany.count()
    })
    .toBe(1)
  await context.close()
})

test('a user can create a project before it has events; a taken name is refused at its field', async () => {
  const mia = await web.app.register('mia@example.org')
  const { page, context, complaints } = await as(mia)
  await page.goto('/')
  await page.getByRole('button', { name: 'New project' }).click()
  const dialog = page.getByRole('dialog', { name: 'New project' })
  await dialog.getByLabel('Name', { exact: true }).fill('digits')
  await dialog.getByRole('button', { name: 'Create project' }).click()
  await dialog.getByRole('alert').waitFor()
  expect(await dialog.getByRole('alert').textContent()).toMatch(/exists|taken/)
  await dialog.getByLabel('Name', { exact: true }).fill('vision-2')
  await dialog.getByLabel('Display name').fill('Vision, the second')
  expect(await seriousFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Create project' }).click()
  await page.getByRole('heading', { name: 'Vision, the second' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/p/vision-2')
  await page.getByRole('navigation', { name: 'Projects' }).getByText('Vision, the second').waitFor()
  const made = (await web.app.call('GET', '/api/projects/vision-2', { token: mia.token })).body
  expect(made).toMatchObject({ slug: 'vision-2', visibility: 'private', role: 'owner' })
  expect(complaints.filter((one) => !/409/.test(one))).toEqual([])
  await context.close()
})
