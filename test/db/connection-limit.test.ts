import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database?.drop())

async function warningsAtStart(databaseUrl: string): Promise<string[]> {
  const app = await startTestApp({ databaseUrl, logLevel: 'warn' })
  const lines = app.logged().trim().split('\n').filter(Boolean)
  await app.stop()
  return lines
    .map((line) => JSON.parse(line).msg)
    .filter((message: string) => /free connections/.test(message))
}

test('a start says which limit leaves a server too few connections', async () => {
  expect(await warningsAtStart(database.url)).toEqual([])
  const { pathname } = new URL(database.url)
  await database.sql.unsafe(`alter database ${pathname.slice(1)} connection limit 30`)
  // Limits of databases do not hold for superusers, but are shown to all.
  const [warning, ...others] = await warningsAtStart(database.url)
  expect(others).toEqual([])
  expect(warning).toMatch(
    / (2\d|30) free connections .*\(the connection limit of the database\).* up to 42: raise /,
  )
})
