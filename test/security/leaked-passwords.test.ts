import { dictionary } from '@zxcvbn-ts/language-common'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isCommonPassword } from '../../src/domain/users/leaked-passwords.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app?.stop())

test('each of the 10,000 most common passwords is refused, in any case', async () => {
  const common = dictionary['passwords-common'].slice(0, 10_000)
  expect(common).toHaveLength(10_000)
  const found = await Promise.all(common.map((one) => isCommonPassword(String(one).toUpperCase())))
  expect(common.filter((_, i) => found[i] !== true)).toEqual([])
  expect(await isCommonPassword(PASSWORD)).toBe(false)
})

test('registering with a common password is refused with an own code and the name of the field', async () => {
  for (const password of ['password', '12345678', 'Qwertyuiop', 'ILOVEYOU']) {
    const body = { email: 'ada@example.org', password }
    const answer = await app.call('POST', '/api/auth/register', { body })
    expect([answer.status, answer.body.code]).toEqual([422, 'password_too_common'])
    expect(answer.body.errors).toMatchObject([{ path: 'password' }])
  }
})

test('a password cannot be changed to a common one', async () => {
  const { token, email } = await app.register()
  const body = { password: 'password1', current_password: PASSWORD }
  const answer = await app.call('PATCH', '/api/auth/me', { token, body })
  expect([answer.status, answer.body.code]).toEqual([422, 'password_too_common'])
  const login = await app.call('POST', '/api/auth/login', { body: { email, password: PASSWORD } })
  expect(login.status).toBe(200)
})
