import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { TEMPLATE } from './global.ts'

export interface TestDatabase {
  url: string
  /** A connection of the test's own, to look at what is stored. */
  sql: Sql
  drop(): Promise<void>
}

const addressOf = (database: string) =>
  inject('databaseUrl').replace(encodeURIComponent('{database}'), database)

/** A new database with all migrations and no rows: a copy of the template, ready in about 50 ms. */
export async function freshDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await asAdministrator((sql) => sql.unsafe(`create database ${name} template ${TEMPLATE}`))
  const sql = openSql(addressOf(name), { name: 'test', max: 2 })
  return {
    url: addressOf(name),
    sql,
    async drop() {
      await sql.end({ timeout: 5 })
      await asAdministrator((admin) => admin.unsafe(`drop database if exists ${name} with (force)`))
    },
  }
}

async function asAdministrator(work: (sql: Sql) => Promise<unknown>): Promise<void> {
  const sql = openSql(addressOf('postgres'), { name: 'test administrator', max: 1 })
  await work(sql).finally(() => sql.end({ timeout: 5 }))
}
