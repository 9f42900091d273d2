#!/usr/bin/env node
// What `npm run test:cluster` runs: the core suites with every database on a Citus cluster, and those for a cluster alone
// (test/cluster). The cluster is that of SVC_TEST_CLUSTER_URL, or one that is started here for the run, from an installed
// PostgreSQL that has the extension.
import { installedCitus, startCluster } from './cluster-nodes.mjs'
import { optionalSuite } from './optional-suite.mjs'

/** The core suites of the contract: ingest, order and repetition, reads, GraphQL, streams, attempts, retention, archive, faults. */
const SUITES = [
  'test/cluster/',
  'test/ingest/contract.test.ts',
  'test/ingest/convergence.test.ts',
  'test/ingest/idempotency.test.ts',
  'test/ingest/poison.slow.test.ts',
  'test/ingest/payload-templates.test.ts',
  'test/attempts/attempts.test.ts',
  'test/attempts/purged-and-shared.test.ts',
  'test/background/archive.slow.test.ts',
  'test/background/retention-clock.test.ts',
  'test/graphql/columns.test.ts',
  'test/graphql/across.test.ts',
  'test/http/series.test.ts',
  'test/http/jobs.test.ts',
  'test/life/life.test.ts',
  'test/live/append.test.ts',
  'test/live/cursor.slow.test.ts',
  'test/live/messages.test.ts',
  'test/live/typed.test.ts',
]
const given = process.env.SVC_TEST_CLUSTER_URL
const ready = Boolean(given) || installedCitus() !== undefined

await optionalSuite({
  name: 'cluster',
  missing: ready ? undefined : 'no SVC_TEST_CLUSTER_URL, and no installed PostgreSQL has Citus',
  only: SUITES,
  async prepare() {
    const cluster = given ? undefined : await startCluster()
    return { env: { SVC_TEST_CLUSTER_URL: given || cluster.url }, stop: () => cluster?.stop() }
  },
})
