#!/usr/bin/env node
// What `npm run test:cluster` runs: the core suites with every database on a Citus cluster, and those for a cluster alone
// (test/cluster). The cluster is that of SVC_TEST_CLUSTER_URL, or one that is started here for the run, from an installed
// PostgreSQL that has the extension. Where there is neither, one line says that they are skipped. Ends with one line,
// `N passed, N failed`.
//
//   node scripts/test-cluster.mjs --ready    runs nothing: whether it could, as the exit code
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vitest } from './again.mjs'
import { installedCitus, startCluster } from './cluster-nodes.mjs'
import { ensureBuilt } from './start.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
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

/** Runs a command to its end, its output passed on. @returns its exit code, or why there is none */
function run(command, args, { cwd = ROOT, env = process.env } = {}) {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => done(code ?? signal))
  })
}

async function runSuites(scratch) {
  // vitest would run the others and say nothing.
  const gone = SUITES.filter((suite) => !existsSync(join(ROOT, suite)))
  if (gone.length > 0) throw new Error(`there is no ${gone.join(', ')}`)
  await ensureBuilt()
  let cluster
  let coordinator = process.env.SVC_TEST_CLUSTER_URL
  if (!coordinator) {
    cluster = await startCluster()
    coordinator = cluster.url
  }
  const runOn = (command, args, { env, ...options }) =>
    run(command, args, { ...options, env: { ...env, SVC_TEST_CLUSTER_URL: coordinator } })
  try {
    return await vitest(runOn, { root: ROOT, scratch, only: SUITES })
  } finally {
    await cluster?.stop()
  }
}

// Ctrl-C ends what runs; then the cluster is stopped, and that is all.
process.on('SIGINT', () => {})
const ready = Boolean(process.env.SVC_TEST_CLUSTER_URL) || installedCitus() !== undefined
if (!ready) console.log('cluster: skipped (no SVC_TEST_CLUSTER_URL, and no installed PostgreSQL has Citus)')
if (process.argv.includes('--ready')) process.exitCode = ready ? 0 : 1
else if (!ready) console.log('0 passed, 0 failed')
else {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-test-cluster-'))
  const {
    passed,
    failed,
    why,
    names = [],
  } = await runSuites(scratch)
    .catch((error) => ({ passed: 0, failed: 1, why: `${error.stack}\n${error.stderr ?? ''}` }))
    .finally(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 10 }))
  for (const name of names) console.log(`FAILED cluster: ${name}`)
  if (why !== undefined) console.log(`FAILED cluster: ${why}`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
}
