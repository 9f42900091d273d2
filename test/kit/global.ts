import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { ensureClient } from '../../scripts/generate-client.mjs'
import { memoryFolder } from '../../scripts/memory.mjs'
import { distribute, TELEMETRY_TABLES } from '../../src/db/cluster.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openSql } from '../../src/db/sql.ts'
import {
  addressOf,
  closeTemplate,
  clusterNodes,
  createOnCluster,
  createViews,
  dropOnCluster,
} from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The server all tests share, with the name `{database}` left to fill in. */
    databaseUrl: string
    /** The addresses of all nodes of a cluster; empty without one. */
    clusterNodes: readonly string[]
    /** How a database is copied: through the WAL spares a disk two checkpoints, in memory copying its files is faster. */
    copyStrategy: 'wal_log' | 'file_copy'
  }
}

/** The migrated database; the database of each test file is a copy of it. */
export const TEMPLATE = 'template_for_tests'
const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations')

/**
 * One PostgreSQL for the whole run, as durable as the real one: what the tests say about commits must be true. It is the
 * embedded one, or the server of `SVC_TEST_DATABASE_URL`, whose user must be able to create databases: so CI tests every
 * supported version; or the cluster whose coordinator is at `SVC_TEST_CLUSTER_URL`, and then every database is distributed.
 */
export default async function globalSetup(project: TestProject): Promise<() => Promise<void>> {
  ensureClient()
  const coordinator = process.env.SVC_TEST_CLUSTER_URL
  if (coordinator !== undefined && coordinator !== '') return setUpCluster(project, coordinator)
  project.provide('clusterNodes', [])
  const given = process.env.SVC_TEST_DATABASE_URL
  const server = given === undefined || given === '' ? await embeddedServer() : externalServer(given)
  const dropTemplate = () =>
    onDatabase(server.url('postgres'), (sql) => sql.unsafe(`drop database if exists ${TEMPLATE}`))
  try {
    await dropTemplate()
    await onDatabase(server.url('postgres'), (sql) => sql.unsafe(`create database ${TEMPLATE}`))
    await onDatabase(server.url(TEMPLATE), (sql) => migrate(sql, MIGRATIONS, { log: () => {} }))
  } catch (error) {
    await server.stop()
    throw error
  }
  project.provide('databaseUrl', server.url('{database}'))
  project.provide('copyStrategy', server.inMemory ? 'file_copy' : 'wal_log')
  return async () => {
    if (server.keeps) await dropTemplate()
    await server.stop()
  }
}

/** Few shards: a database of its own for every test file costs as much as it has shards. */
const SHARDS = 4

async function setUpCluster(project: TestProject, coordinator: string): Promise<() => Promise<void>> {
  const nodes = await clusterNodes(coordinator)
  await dropOnCluster(nodes, TEMPLATE)
  await createOnCluster(nodes, TEMPLATE, SHARDS)
  const url = addressOf(coordinator, { database: TEMPLATE })
  await onDatabase(url, async (sql) => {
    await migrate(sql, MIGRATIONS, { log: () => {} })
    await distribute(sql, url, { log: () => {} })
  })
  await createViews(url, TELEMETRY_TABLES)
  await closeTemplate(nodes, TEMPLATE)
  project.provide('databaseUrl', addressOf(coordinator, { database: '{database}' }))
  project.provide('clusterNodes', nodes)
  return () => dropOnCluster(nodes, TEMPLATE)
}

interface TestServer {
  url(database: string): string
  /** Whether the server goes on after the run, so that the template must be dropped. */
  keeps: boolean
  inMemory: boolean
  stop(): Promise<void>
}

function externalServer(address: string): TestServer {
  const url = (database: string): string => {
    const of = new URL(address)
    of.pathname = `/${encodeURIComponent(database)}`
    return of.href
  }
  return { url, keeps: true, inMemory: false, stop: async () => {} }
}

async function embeddedServer(): Promise<TestServer> {
  const { path: home, inMemory } = memoryFolder('svc-test-')
  const said: string[] = []
  const log = (message: string) => void said.push(message)
  const postgres = await startEmbedded({
    home,
    log,
    settings: { max_connections: '200', shared_buffers: '128MB', max_wal_size: '512MB' },
  }).catch((error) => {
    throw new Error(`${(error as Error).message}\n${said.join('\n')}`, { cause: error })
  })
  return {
    url: postgres.url,
    keeps: false,
    inMemory,
    stop: async () => {
      await postgres.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function onDatabase(url: string, work: (sql: ReturnType<typeof openSql>) => Promise<unknown>) {
  const sql = openSql(url, { name: 'test setup', max: 1 })
  await work(sql).finally(() => sql.end({ timeout: 5 }))
}
