import { afterAll, beforeAll, expect, test } from 'vitest'
import { isGuessablePassword } from '../../src/domain/users/guessable-passwords.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})
afterAll(() => app?.stop())

const ADA = { email: 'ada.lovelace@analytical.example', name: 'Ada Lovelace' }

test.each([
  'ada.lovelace@analytical.example',
  'Lovelace2026!',
  'L0vel4ce-1815',
  'lovelace.ada',
  'AdaLovelace1',
  'analytical99',
  'ExperimentMonitor',
  'experiment-monitor-1',
  'M0n1tor!M0n1tor!',
  'aaaaaaaaaaaa',
  '................',
  'abababababab',
  'xyz1xyz1xyz1',
])('a password that is made of what guessers know is refused: %s', (password) => {
  expect(isGuessablePassword(password, ADA)).toBe(true)
})

test.each([
  PASSWORD,
  'the lovelace of my life',
  'monitor lizards bite',
  '839214670215',
  'ab12ab12ab1',
  'größenwahn im garten',
])('a password with enough of its own is accepted: %s', (password) => {
  expect(isGuessablePassword(password, ADA)).toBe(false)
})

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
