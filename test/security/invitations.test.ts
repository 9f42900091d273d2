import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { type Mailbox, mailSent, openMailbox } from '../notifications/mailbox.ts'

// Users become members of a project only by accepting, and not through an unverified address (contract §10).

let box: Mailbox
/** Two servers, with a mail server and without one, and the one that a test calls. */
let mailing: TestApp
let silent: TestApp
let app: TestApp
let owners: Map<TestApp, Awaited<ReturnType<TestApp['register']>>>
let owner: Awaited<ReturnType<TestApp['register']>>
let people = 0
let projects = 0
let slug: string

beforeAll(async () => {
  box = await openMailbox()
  mailing = await startTestApp({ smtp: { url: box.url, from: 'monitor@example.org' } })
  silent = await startTestApp()
  owners = new Map()
  for (const one of [mailing, silent]) owners.set(one, await one.register('owner@example.org'))
})
afterAll(async () => {
  await mailing?.stop()
  await silent?.stop()
  await box?.stop()
})
beforeEach(() => speakTo(silent))

/** From here on the test is about this server, and a new project on it. */
async function speakTo(server: TestApp): Promise<void> {
  app = server
  owner = owners.get(server) as typeof owner
  slug = `project-${++projects}`
  await app.call('POST', '/api/projects', { token: owner.token, body: { slug } })
}

const newPerson = () => app.register(`invited${++people}@example.org`)
const invite = (email: string, more: object = {}) =>
  app.call('POST', `/api/projects/${slug}/members`, {
    token: owner.token,
    body: { email, role: 'member', ...more },
  })
const invitationsOf = async (token: string) =>
  (await app.call('GET', '/api/invitations', { token })).body.items
const sees = async (token: string) => (await app.call('GET', `/api/projects/${slug}`, { token })).status
const pending = async () =>
  (await app.call('GET', `/api/projects/${slug}/invitations`, { token: owner.token })).body.items

test('an account whose address is not verified cannot be invited; without a mail server the inviter can confirm it', async () => {
  for (const [server, more] of [
    [mailing, {}],
    [mailing, { confirm_unverified: true }],
    [silent, {}],
  ] as const) {
    await speakTo(server)
    const person = await newPerson()
    const refused = await invite(person.email, more)
    expect([refused.status, refused.body.code]).toEqual([409, 'address_not_verified'])
    expect(await invitationsOf(person.token)).toEqual([])
  }
  const invited = await invite((await newPerson()).email, { confirm_unverified: true })
  expect([invited.status, invited.body.state]).toEqual([201, 'invited'])
})

test('an invitation gives no access until the user accepts it, and is announced by mail', async () => {
  await speakTo(mailing)
  const person = await newPerson()
  await app.verify(person.email)
  const made = await invite(person.email)
  expect([made.status, made.body.state, made.body.user_id]).toEqual([201, 'invited', person.user.id])
  expect(await sees(person.token)).toBe(404)
  const [invitation] = await invitationsOf(person.token)
  expect(invitation).toMatchObject({
    id: made.body.invitation_id,
    project: slug,
    role: 'member',
    state: 'invited',
    invited_by: { id: owner.user.id },
  })
  expect(await pending()).toMatchObject([{ user_id: person.user.id, email: person.email, state: 'invited' }])
  await mailSent(app.sql)
  const mails = box.aboutAccounts.filter((one) => one.to.includes(person.email))
  expect(mails.map((one) => one.mail.subject)).toContain(`Invitation to the project ${slug}`)

  const accepted = await app.call('POST', `/api/invitations/${invitation.id}/accept`, {
    token: person.token,
  })
  expect([accepted.status, accepted.body.state]).toEqual([200, 'member'])
  expect(await sees(person.token)).toBe(200)
  expect([await invitationsOf(person.token), await pending()]).toEqual([[], []])
  const again = await app.call('POST', `/api/invitations/${invitation.id}/accept`, { token: person.token })
  expect([again.status, again.body.code]).toEqual([404, 'invitation_not_found'])
  // A member's role changes at once.
  const changed = await invite(person.email, { role: 'viewer' })
  expect([changed.status, changed.body.state, changed.body.role]).toEqual([200, 'member', 'viewer'])
})

test('an invitation can be accepted only by its user, declined, and withdrawn', async () => {
  const [person, other] = [await newPerson(), await newPerson()]
  const first = (await invite(person.email, { confirm_unverified: true })).body.invitation_id
  for (const token of [other.token, owner.token]) {
    const stolen = await app.call('POST', `/api/invitations/${first}/accept`, { token })
    expect([stolen.status, stolen.body.code]).toEqual([404, 'invitation_not_found'])
  }
  const declined = await app.call('POST', `/api/invitations/${first}/decline`, { token: person.token })
  expect([declined.status, declined.body.state]).toEqual([200, 'declined'])
  expect([await sees(person.token), await pending()]).toEqual([404, []])

  const second = (await invite(person.email, { confirm_unverified: true })).body.invitation_id
  const path = `/api/projects/${slug}/invitations/${second}`
  expect((await app.call('DELETE', path, { token: person.token })).status).toBe(404)
  expect((await app.call('DELETE', path, { token: owner.token })).status).toBe(204)
  const late = await app.call('POST', `/api/invitations/${second}/accept`, { token: person.token })
  expect([late.status, await sees(person.token)]).toEqual([404, 404])
})

test('an invitation holds only while the person who made it may still let people in', async () => {
  const [person, helper] = [await newPerson(), await newPerson()]
  const roleOf = (role: 'admin' | 'user') =>
    app.call('PATCH', `/api/admin/users/${helper.user.id}`, { token: owner.token, body: { role } })
  expect((await roleOf('admin')).status).toBe(200)
  const body = { email: person.email, role: 'member', confirm_unverified: true }
  const made = await app.call('POST', `/api/projects/${slug}/members`, { token: helper.token, body })
  expect(made.status).toBe(201)
  const [invitation] = await invitationsOf(person.token)
  expect((await roleOf('user')).status).toBe(200)
  expect(await invitationsOf(person.token)).toEqual([])
  const path = `/api/invitations/${invitation.id}/accept`
  const late = await app.call('POST', path, { token: person.token })
  expect([late.status, await sees(person.token)]).toEqual([404, 404])
  // The owner still sees it, and may send it in their own name.
  expect((await invite(person.email, { confirm_unverified: true })).status).toBeLessThan(300)
  const [again] = await invitationsOf(person.token)
  const accepted = await app.call('POST', `/api/invitations/${again.id}/accept`, { token: person.token })
  expect([accepted.status, await sees(person.token)]).toEqual([200, 200])
})
