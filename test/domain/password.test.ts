import { expect, test } from 'vitest'
import { hashPassword, verifyPassword } from '../../src/domain/users/password.ts'

/** By `@node-rs/argon2`, which hashed passwords before: of `password-ä-😀`. */
const STORED =
  '$argon2id$v=19$m=19456,t=2,p=1$O/h6OiYvtIzsNgDc/gUvBQ$eOJTQS3lS3U06YQJxlFwNq0yQvAr0G6EtzKtHrR0dVU'

test('a hash of an earlier release verifies, however its letters are composed', async () => {
  expect(await verifyPassword(STORED, 'password-ä-😀')).toBe(true)
  expect(await verifyPassword(STORED, 'password-a\u0308-😀')).toBe(true)
  expect(await verifyPassword(STORED, 'password-a-😀')).toBe(false)
})

test('a password verifies against its own hash only, and nothing without a hash', async () => {
  const hash = await hashPassword('correct horse')
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  expect(await verifyPassword(hash, 'correct horse')).toBe(true)
  expect(await verifyPassword(hash, 'correct horsE')).toBe(false)
  for (const none of [null, undefined]) expect(await verifyPassword(none, 'correct horse')).toBe(false)
})
