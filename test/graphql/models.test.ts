import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Prisma } from '../../src/db/generated/client.ts'
import { getDatamodel } from '../../src/db/generated/pothos.ts'
import { type Graph, openGraph } from '../../src/db/prisma.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

// prisma/schema.prisma must match the tables that the migrations create.

let database: TestDatabase
let graph: Graph
beforeAll(async () => {
  database = await freshDatabase()
  graph = openGraph(database.url, { max: 2 })
})
afterAll(async () => {
  await graph?.close()
  await database?.drop()
})

const { models } = getDatamodel().datamodel
const names = Object.keys(Prisma.ModelName) as (keyof typeof Prisma.ModelName)[]
const delegateOf = (name: string) => `${name.charAt(0).toLowerCase()}${name.slice(1)}` as 'job'

const VIEWS = ['Host', 'JobSeries', 'Link']

/** Tables that the server's own migrator and its job queue keep, and those that GraphQL does not read. */
const NOT_MODELLED = [
  '_prisma_migrations',
  'address_confirmations',
  'artifact_alias_moves',
  'artifact_aliases',
  'artifact_files',
  'artifact_makers',
  'artifact_uses',
  'artifact_versions',
  'artifacts',
  'batch_fields',
  'batch_files',
  'cold_batches',
  'cold_removals',
  'contents',
  'cron_runs',
  'file_claims',
  'identities',
  'mail_addresses',
  'mail_budgets',
  'mail_held',
  'media',
  'media_keys',
  'notices',
  'notification_recipients',
  'oauth_attempts',
  'passkeys',
  'project_invitations',
  'reachable',
  'recovery_codes',
  'servers',
  'sign_in_challenges',
  'stored_removals',
  'sweep_commands',
  'sweep_edits',
  'sweep_trials',
  'sweeps',
  'swept_stretches',
  'totp_factors',
  'uploads',
  'verdicts',
]

test('every table of the database has a model', async () => {
  const tables = await database.sql<{ name: string }[]>`
    select table_name name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`
  expect(tables.map(({ name }) => name).filter((name) => !NOT_MODELLED.includes(name))).toEqual(
    names
      .filter((name) => !VIEWS.includes(name))
      .map(tableOf)
      .toSorted(),
  )
})

describe.each(names)('the model %s', (model) => {
  test('can be read, with all its relations', async () => {
    const relations = models[model]?.fields.filter(({ kind }) => kind === 'object') ?? []
    const include = Object.fromEntries(relations.map((field) => [field.name, true]))
    const read = graph.prisma[delegateOf(model)].findMany({
      take: 1,
      ...(relations.length > 0 && { include }),
    })
    expect(await read).toEqual([])
  })

  test('has every column of its table', async () => {
    const columns = await database.sql<{ name: string; required: boolean }[]>`
      select column_name name, is_nullable = 'NO' required from information_schema.columns
      where table_schema = 'public' and table_name = ${tableOf(model)} order by 1`
    const fields = models[model]?.fields.filter(({ kind }) => kind !== 'object') ?? []
    // A list is never null to Prisma.
    const lists = new Set(fields.filter((field) => field.isList).map((field) => snake(field.name)))
    const told = fields.map((field) => ({ name: snake(field.name), required: field.isRequired }))
    const said = new Map(told.map((field) => [field.name, field.required]))
    expect(told.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      columns.map(({ name, required }) => ({
        name,
        // PostgreSQL does not say so of the columns of a view.
        required: VIEWS.includes(model) ? said.get(name) : required || lists.has(name),
      })),
    )
  })
})

test('the client cannot write', async () => {
  const wrong = graph.prisma.user.create({ data: { email: 'a@b.c', emailKey: 'a@b.c', name: 'a' } })
  await expect(wrong).rejects.toThrow(/read-only/)
})

const snake = (name: string): string => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)

const TABLES: Partial<Record<string, string>> = {
  AuditEntry: 'audit_log',
  Batch: 'batches',
  CommandBatch: 'command_batches',
  BatchProgress: 'batch_progress',
  Epoch: 'epochs',
  JobProgress: 'job_progress',
  JobSeries: 'job_series',
}
const tableOf = (name: string): string => TABLES[name] ?? `${snake(delegateOf(name))}s`
