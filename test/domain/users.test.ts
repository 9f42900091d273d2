import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { createUser } from '../../src/domain/users/index.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await freshDatabase()
  sql = openSql(database.url, { name: 'test users', max: 25 })
  // All connections open, so that the races below begin at once.
  await Promise.all(Array.from({ length: 25 }, () => sql`select pg_sleep(0.1)`))
})
afterAll(async () => {
  await sql?.end()
  await database?.drop()
})

test.each([
  'open',
  'closed',
] as const)('of many who register at the same time as the first user, one becomes administrator (registration %s)', async (registration) => {
  for (let round = 0; round < 5; round++) {
    await sql`truncate users cascade`
    const made = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        sql.begin((tx) => {
          const user = { email: `p${i}@example.org`, name: `p${i}`, passwordHash: null }
          return createUser(tx, user, registration, new Date())
        }),
      ),
    )
    const roles = made.map((one) => (one.status === 'fulfilled' ? one.value.role : one.reason.code)).sort()
    const others = registration === 'open' ? 'user' : 'registration_closed'
    expect(roles).toEqual(['admin', ...Array(49).fill(others)])
  }
})
