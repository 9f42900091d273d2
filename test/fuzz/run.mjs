#!/usr/bin/env node
// What `npm run test:fuzz` runs: schemathesis sends requests made from the OpenAPI document to a fresh server, once without
// credentials and once as a signed-in user, and holds the answers against the document: no 5xx, no status, media type or
// shape that is not documented, nothing accepted that the document forbids. The seed is fixed. The last line is
// `N passed, N failed`.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ensureBuilt } from '../../scripts/start.mjs'

const exec = promisify(execFile)
const ROOT = resolve(fileURLToPath(import.meta.url), '../../..')
const REQUIREMENTS = join(ROOT, 'test/fuzz/requirements.txt')
const VENV = join(ROOT, 'node_modules/.cache/fuzz-venv')
const SEED = '20261123'
/** Requests for each operation and caller; both runs together take about four minutes on two quiet cores. */
const EXAMPLES = process.env.SVC_TEST_FUZZ_EXAMPLES ?? '8'
const RUN_MS = 10 * 60_000
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,negative_data_rejection'
/**
 * Operations that the fuzzer does not call: streams never end, and these take from the caller what the rest of the run needs.
 * A rotation of signing keys is among them: after a few of them the caller's own session would no longer be verified.
 */
const NEVER = ['/api/sse', '/api/admin/jwt/rotate', '/api/auth/logout', '/metrics']

async function preparePython() {
  const stamp = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex')
  const made = join(VENV, 'made-from')
  if (existsSync(made) && readFileSync(made, 'utf8') === stamp) return
  rmSync(VENV, { recursive: true, force: true })
  const options = { maxBuffer: 64 * 1024 * 1024, timeout: 10 * 60_000 }
  await exec('python3', ['-m', 'venv', VENV], options)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', REQUIREMENTS]
  await exec(join(VENV, 'bin/python'), pip, options)
  writeFileSync(made, stamp)
}

async function startServer(data) {
  const clean = Object.entries(process.env).filter(([name]) => !/^(SVC_|DATABASE_URL$)/.test(name))
  const env = {
    ...Object.fromEntries(clean),
    SVC_PORT: '0',
    SVC_DATA_DIR: data,
    SVC_LOG_LEVEL: 'error',
    SVC_MAX_TOKENS_PER_USER: '100000',
    SVC_MAX_PROJECTS_PER_USER: '100000',
    SVC_REGISTRATIONS_PER_HOUR: '100000',
  }
  const child = spawn(process.execPath, [join(ROOT, 'dist/cli/main.js')], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((done) => child.once('close', done))
  const url = await new Promise((done, refuse) => {
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
      const found = /Address +(http:\S+)/.exec(said)?.[1]
      if (found !== undefined) done(found)
    })
    child.once('close', (code) => refuse(new Error(`the server ended with ${code}\n${said}`)))
  })
  const post = async (path, body, token) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  // The first account administers the service; the fuzzer is an ordinary one, with a project and a batch to its name.
  await post('/api/auth/register', { email: 'admin@example.com', password: 'correct horse battery' })
  const account = { email: 'fuzzer@example.com', password: 'correct horse battery' }
  const { token: session } = await post('/api/auth/register', account)
  const { token: reporter } = await post('/api/tokens', { name: 'fuzz', scope: 'reporter' }, session)
  await post(
    '/api/events',
    {
      event_id: '00000000-0000-4000-8000-000000000001',
      schema_version: '1.1',
      event_type: 'batch_start',
      timestamp: new Date().toISOString(),
      batch_id: 'fuzzed',
      source: { project: 'fuzzed' },
      data: { experiment_type: 'train', n_total: 1 },
    },
    reporter,
  )
  return {
    url,
    session,
    reporter,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** One run of the fuzzer. @returns how many operations passed and failed, or why there is no such count */
async function fuzz(title, server, token, paths, scratch) {
  console.log(`\nfuzzing ${title}`)
  const report = join(scratch, 'report.xml')
  rmSync(report, { force: true })
  const args = [
    '--config-file',
    join(ROOT, 'test/fuzz/schemathesis.toml'),
    'run',
    `${server.url}/api/openapi.json`,
    '--checks',
    CHECKS,
    '--phases',
    'coverage,fuzzing',
    '--max-examples',
    EXAMPLES,
    '--seed',
    SEED,
    '--workers',
    '1',
    '--request-timeout',
    '30',
    '--continue-on-failure',
    '--suppress-health-check',
    'all',
    '--warnings',
    'off',
    '--report',
    'junit',
    '--report-junit-path',
    report,
    '--no-color',
    ...NEVER.flatMap((path) => ['--exclude-path', path]),
    ...paths,
    ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]),
  ]
  const child = spawn(join(VENV, 'bin/schemathesis'), args, {
    cwd: scratch,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const patience = setTimeout(() => child.kill('SIGKILL'), RUN_MS)
  const code = await new Promise((done) => child.once('close', (status, signal) => done(status ?? signal)))
  clearTimeout(patience)
  if (!existsSync(report)) throw new Error(`schemathesis ended with ${code} and left no report`)
  const text = readFileSync(report, 'utf8')
  const of = (word) => Number(new RegExp(`<testsuites[^>]*\\b${word}="(\\d+)"`).exec(text)?.[1] ?? 0)
  const failed = of('failures') + of('errors')
  if (failed === 0 && code !== 0) throw new Error(`schemathesis ended with ${code}`)
  return { passed: of('tests') - failed, failed }
}

const scratch = mkdtempSync(join(tmpdir(), 'svc-fuzz-'))
const sum = { passed: 0, failed: 0 }
let server
try {
  await Promise.all([ensureBuilt(), preparePython()])
  server = await startServer(join(scratch, 'data'))
  const runs = [
    ['without credentials', undefined, []],
    ['as a signed-in user', server.session, ['--exclude-path-regex', '^/api/events|^/api/agents/\\{id\\}']],
    ['an event as a reporter', server.reporter, ['--include-path', '/api/events']],
    [
      'an array of events as a reporter',
      server.reporter,
      // An item that is not valid is refused in its own result, beside a 200 (contract §1).
      ['--include-path', '/api/events/batch', '--exclude-checks', 'negative_data_rejection'],
    ],
  ]
  for (const [title, token, paths] of runs) {
    const { passed, failed } = await fuzz(title, server, token, paths, scratch).catch((error) => {
      console.error(error.message)
      return { passed: 0, failed: 1 }
    })
    sum.passed += passed
    sum.failed += failed
  }
  const well = await fetch(`${server.url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
  if (well) sum.passed++
  else {
    sum.failed++
    console.error('the server does not answer any more')
  }
} catch (error) {
  sum.failed++
  console.error(error.message)
} finally {
  await server?.stop()
  rmSync(scratch, { recursive: true, force: true, maxRetries: 10 })
}
console.log(`\n${sum.passed} passed, ${sum.failed} failed`)
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1
