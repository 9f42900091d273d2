import { afterAll, beforeAll, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app?.stop())

const ADA = { email: 'ada.lovelace@analytical.example', name: 'Ada Lovelace' }

test('registering and changing refuse such passwords with the name of the field; a new name counts too', async () => {
  const register = (password: string) =>
    app.call('POST', '/api/auth/register', { body: { ...ADA, password } })
  const refused = await register('lovelace-1815')
  expect([refused.status, refused.body.code]).toEqual([422, 'password_guessable'])
  expect(refused.body.errors).toMatchObject([{ path: 'password' }])
  const { body } = await register(PASSWORD)
  const change = (more: object) =>
    app.call('PATCH', '/api/auth/me', { token: body.token, body: { current_password: PASSWORD, ...more } })
  expect((await change({ password: 'analytical-99' })).body.code).toBe('password_guessable')
  expect((await change({ password: 'augusta-king!', name: 'Augusta King' })).body.code).toBe(
    'password_guessable',
  )
})
