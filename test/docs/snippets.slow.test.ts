import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSchema, parse, validate } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildWheels } from '../../scripts/wheels.mjs'
import { readConfig } from '../../src/config.ts'
import { readProviders } from '../../src/oauth-config.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { type Block, bash, blocksOf, cleanEnvironment, installReporter } from './page-blocks.ts'

/**
 * The blocks of code in the README files and in docs/, but for the quick start and the guides (guides.slow.test.ts). The blocks
 * of a page are run in their order in one shell, with a real service, unless the table names the test that runs them, or says why none does.
 */
const ROOT = join(import.meta.dirname, '../..')

type Way =
  /** Run; `before` defines what the text assumes. */
  | { run: true; before?: string }
  /** Settings of the service, NAME=value. */
  | { settings: true }
  | { sql: true }
  | { graphql: true }
  /** Lines of `npm run NAME` and others that begin with a file. */
  | { scripts: true }
  /** The test that runs it. */
  | { test: string }
  /** Why it is not run. */
  | { unrun: string }

const CLUSTER = 'needs a Kubernetes cluster; the chart is rendered in test/ops/deployment.test.ts'
const run: Way = { run: true }
/** Of each page: the beginning of each block, in order, and what is done with it. */
const WAYS: Record<string, [string, Way][]> = {
  'README.md': [
    ['npm start', { test: 'test/scripts/start.slow.test.ts' }],
    ['export SVC_URL', run],
    ['import svc_reporter', run],
    ['event() {', run],
    ['curl -s $SVC_URL/api/batches', run],
    ['npm run dev', { scripts: true }],
  ],
  'python/reporter/README.md': [
    ['pip install --index-url', run],
    [
      'import svc_reporter as svc\n\nrun',
      {
        run: true,
        before: 'import argparse\nargs, loader, loss, lr = argparse.Namespace(depth=4), range(3), 0.5, 3e-4',
      },
    ],
    [
      'import svc_reporter as svc\n\nwith svc.Reporter',
      { run: true, before: 'loss, val, acc = 0.5, 0.6, 0.9' },
    ],
    ['from svc_reporter.query', run],
    ['pip install -r', { unrun: 'the commands of those who change the reporter; .ci/run runs them' }],
  ],
  'python/agent/README.md': [['pip install --index-url', run]],
  'docs/agent.md': [['pip install --index-url', run]],
  'docs/api.md': [
    ['curl -X POST', run],
    ['curl "$SVC_URL/api/batches?', run],
    ['curl -G', run],
    ['import json, os, urllib', { test: 'test/graphql/docs.test.ts' }],
    ['query Written', { test: 'test/graphql/written.test.ts' }],
    ['const id', { test: 'test/live/clients.slow.test.ts' }],
    ['subscription {', { graphql: true }],
  ],
  'docs/query.md': [
    ['lr<0.01', { unrun: 'a query; test/http/queries.test.ts has many' }],
    ['curl -G', run],
    ['{\n  batches', { graphql: true }],
  ],
  'docs/architecture.md': [['cli ──▶', { unrun: 'a drawing' }]],
  'docs/contract.md': [
    ['{"schema_version"', { unrun: 'a shape with omissions; docs/api.md has one to run' }],
  ],
  'docs/embeds.md': [
    ['<iframe src=', { test: 'test/http/embeds.test.ts' }],
    ['![val_loss](', { test: 'test/http/embeds.test.ts' }],
  ],
  'docs/files.md': [
    ['curl -X POST', { test: 'test/files/files.test.ts' }],
    ['{"name"', { test: 'test/files/artifacts.test.ts' }],
  ],
  'docs/install.md': [
    ['npm i -g', { test: 'test/ops/release.slow.test.ts' }],
    ['sha256sum', { test: 'test/ops/release.slow.test.ts' }],
    ['useradd', { unrun: 'needs systemd as process 1; test/ops/deployment.test.ts reads the unit' }],
    ['docker compose', { unrun: 'needs Docker; test/ops/deployment.test.ts reads the files' }],
    ['kubectl', { unrun: CLUSTER }],
    ['svc user create', run],
    ['pip install --index-url', run],
    ['npm install @svc/reporter', { test: 'test/typescript/reporter.slow.test.ts' }],
  ],
  'docs/media.md': [['import svc_reporter as svc', { test: 'python/reporter/tests/test_media.py' }]],
  'docs/notifications.md': [
    ['curl -X POST', run],
    ['curl -X POST', { test: 'test/notifications/personal.test.ts' }],
    ['curl -X PATCH', { test: 'test/notifications/channels.test.ts' }],
  ],
  'docs/command-line.md': [
    ['pip install --index-url', { test: 'python/reporter/tests/test_read_cli.py' }],
    ['if run=', { test: 'python/reporter/tests/test_read_cli.py' }],
    ['source <(', { test: 'python/reporter/tests/test_read_cli.py' }],
  ],
  'docs/coding-agents.md': [
    ['curl -X POST', { test: 'test/http/tokens.test.ts' }],
    ['claude mcp add', { unrun: 'needs Claude Code; test/http/mcp.test.ts connects with the SDK' }],
    [
      '{\n  "mcpServers"',
      { unrun: 'settings of a coding agent; test/http/mcp.test.ts connects with the SDK' },
    ],
    ['curl -s "$SVC_URL/mcp"', { test: 'test/http/mcp.test.ts' }],
  ],
  'docs/operations.md': [
    ['SVC_PUBLIC_URL', { settings: true }],
    ['svc user create', run],
    ['svc backup', run],
    ['SVC_ARCHIVE=s3', { settings: true }],
    ['import json, pathlib', { unrun: 'needs pyarrow and pandas, which the suites do not install' }],
    ['svc wal-archive', { test: 'test/ops/wal-archive.slow.test.ts' }],
    ['svc sweep', run],
    ['svc upgrade-database', { test: 'test/db/upgrade.slow.test.ts' }],
    ['npm install -g @opentelemetry', { test: 'test/ops/telemetry.slow.test.ts' }],
    ['select l.pid', { sql: true }],
  ],
  'docs/scaling.md': [
    ['SVC_DATABASE_URL', { settings: true }],
    ['# Pages, reads', { test: 'test/ops/proxies.slow.test.ts' }],
    ['monitor.example.org {', { test: 'test/ops/proxies.slow.test.ts' }],
    ['defaults\n  mode http', { test: 'test/ops/other-proxies.slow.test.ts' }],
    ['<VirtualHost', { test: 'test/ops/other-proxies.slow.test.ts' }],
    ['scope: svc', { test: 'test/ha/fail-over.ha.ts' }],
    ['hot_standby_feedback', { test: 'test/ops/read-replica.slow.test.ts' }],
    ['create extension citus', { unrun: 'needs the extension Citus; test/kit/cluster.ts sets one up so' }],
    ['citus.node_conninfo', { unrun: 'a setting of Citus; test/cluster/doctor.cluster.ts is without it' }],
  ],
}

/** Pages whose blocks another test takes from the page by itself. */
const READ_BY: Record<string, string> = {
  'docs/quick-start.md': 'test/docs/guides.slow.test.ts',
  'docs/guides': 'test/docs/guides.slow.test.ts',
  'docs/from-wandb.md': 'python/reporter/tests/test_from_wandb.py',
}

const pages = [
  'README.md',
  'python/reporter/README.md',
  'python/agent/README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].filter((page) => !Object.keys(READ_BY).some((of) => page === of || page.startsWith(`${of}/`)))

test('every block of every page is run, or listed with its test or the reason why it is not run', () => {
  const found = pages
    .map((page) => [page, blocksOf(page)] as const)
    .filter(([page, blocks]) => blocks.length > 0 || WAYS[page] !== undefined)
    .map(([page, blocks]) => [
      page,
      blocks.map(({ code }, i) => {
        const [begins = '(none)'] = WAYS[page]?.[i] ?? []
        return code.startsWith(begins) ? begins : code.slice(0, 40)
      }),
    ])
  const listed = Object.entries(WAYS).map(([page, ways]) => [page, ways.map(([begins]) => begins)])
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(listed))
  const named = Object.values(WAYS).flatMap((ways) =>
    ways.flatMap(([, way]) => ('test' in way ? way.test : [])),
  )
  const tests = [...named, ...Object.values(READ_BY)]
  expect(tests.filter((name) => !existsSync(join(ROOT, name)))).toEqual([])
  for (const [page, name] of Object.entries(READ_BY))
    expect([name, readFileSync(join(ROOT, name), 'utf8')]).toEqual([name, expect.stringContaining(page)])
})

const taken = (kind: 'settings' | 'sql' | 'graphql' | 'scripts'): { page: string; code: string }[] =>
  Object.entries(WAYS).flatMap(([page, ways]) => {
    const blocks = blocksOf(page)
    return ways.flatMap(([, way], i) => (kind in way ? [{ page, code: (blocks[i] as Block).code }] : []))
  })

test('settings in the pages are settings of the service with valid values', async () => {
  const blocks = taken('settings')
  expect(blocks).toHaveLength(3)
  for (const { page, code } of blocks) {
    const lines = code.split('\n').filter((line) => line !== '' && line !== 'npm start')
    // The shell reads them, with their quotes and comments.
    const script = `set -a\n${lines.join('\n')}\nset +a\nenv -0 | grep -az ^SVC_`
    const { code: status, said } = await bash(script, tmpdir(), { PATH: process.env.PATH ?? '' })
    expect([page, status]).toEqual([page, 0])
    const pairs = said.split('\0').filter((pair) => pair !== '')
    expect(pairs.length).toBeGreaterThan(2)
    const env = Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
    expect(readConfig(env).warnings).toEqual([])
    expect(readProviders(env)).not.toHaveProperty('fault')
  }
})

test('the npm scripts named in the pages exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const [block] = taken('scripts')
  const lines = (block as { code: string }).code.trim().split('\n')
  expect(lines.length).toBeGreaterThan(5)
  for (const line of lines) {
    const [, name, file] = /^(?:npm (?:run )?(\S+)|npx tsx (\S+))/.exec(line) ?? []
    if (file !== undefined) expect([line, existsSync(join(ROOT, file))]).toEqual([line, true])
    else expect(scripts).toHaveProperty([name as string])
  }
})

test('GraphQL queries fit the schema', () => {
  const schema = buildSchema(readFileSync(join(ROOT, 'schemas/schema.graphql'), 'utf8'))
  for (const { page, code } of taken('graphql'))
    expect([page, validate(schema, parse(code))]).toEqual([page, []])
})

let scratch: string
let bin: string
let first: TestApp
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-snippets-'))
  buildWheels()
  first = await startTestApp()
  bin = await installReporter(scratch, first.address)
}, 240_000)
afterAll(async () => {
  await first?.stop()
  rmSync(scratch, { recursive: true, force: true })
})

test('SQL statements run', async () => {
  const blocks = taken('sql')
  expect(blocks).toHaveLength(1)
  for (const { code } of blocks) expect(Array.isArray(await first.sql.unsafe(code))).toBe(true)
})

/** What readers of most pages have: an account, tokens, and a batch. */
async function prepare(app: TestApp): Promise<Record<string, string>> {
  const body = { email: 'you@example.com', password: 'at least 8 characters' }
  const session = (await app.call('POST', '/api/auth/register', { body })).body.token
  const token = await app.reporterToken(session)
  const read = { token: session, body: { name: 'notebook', scope: 'read' } }
  const readToken = (await app.call('POST', '/api/tokens', read)).body.token
  const of = { batch_id: 'known', source: { project: 'vision' } }
  const events = [
    makeEvent('batch_start', of),
    makeEvent('job_start', { ...of, job_id: 'a', data: { lr: 0.001 } }),
    makeEvent('job_epoch', { ...of, job_id: 'a', data: { epoch: 0, val_loss: 0.5 } }),
    makeEvent('job_done', { ...of, job_id: 'a' }),
    makeEvent('batch_done', of),
  ]
  expect((await app.call('POST', '/api/events/batch', { token, body: events })).status).toBe(200)
  return { SVC_TOKEN: token, SVC_READ_TOKEN: readToken, TOKEN: session }
}

/** Pages that begin with the first account. */
const FRESH = ['README.md', 'docs/install.md']

const PRELUDE = `curl() { command curl --fail-with-body -sS "$@"; }
# The agent goes on until it is stopped: here until the service has heard of it again.
seen() { curl "$SVC_URL/api/hosts" -H "Authorization: Bearer $TOKEN" | grep -Eo '"last_seen_at": ?[^,}]*'; }
agent() {
  registered=$(seen)
  svc-agent run & agent=$!
  while [ "$(seen)" = "$registered" ]; do sleep 0.2; done
  kill $agent; wait $agent
}
`

const runPages = Object.keys(WAYS).filter((page) => WAYS[page]?.some(([, way]) => 'run' in way))

test.each(runPages)('the commands and scripts of %s work', async (page) => {
  const app = await startTestApp()
  const folder = join(scratch, page.replace(/\W/g, '-'))
  mkdirSync(folder)
  writeFileSync(join(folder, 'password.txt'), 'another good password')
  try {
    const tokens = FRESH.includes(page) ? {} : await prepare(app)
    const fill = (text: string): string =>
      text
        .replaceAll(/https:\/\/monitor\.example\.org|http:\/\/127\.0\.0\.1:8080/g, app.address)
        .replaceAll('em_live_…', '$SVC_TOKEN')
        .replace(/^svc-agent run$/m, 'agent')
    const blocks = blocksOf(page)
    const script = (WAYS[page] ?? []).flatMap(([, way], i) => {
      const { language, code } = blocks[i] as Block
      if (!('run' in way)) return []
      if (language === 'sh') return [fill(code)]
      expect([page, language]).toEqual([page, 'python'])
      return [
        `cat >${i}.py <<'END-OF-SCRIPT'\n${way.before ?? ''}\n${fill(code)}END-OF-SCRIPT\npython ${i}.py`,
      ]
    })
    const env = {
      ...cleanEnvironment(folder, bin),
      ...tokens,
      SVC_URL: app.address,
      SVC_DATABASE_URL: app.config.databaseUrl as string,
    }
    const { code, said } = await bash(PRELUDE + script.join('\n'), folder, env)
    expect([code, code === 0 ? '' : said]).toEqual([0, ''])
    // An array of events is answered with 200 even where one of them is refused.
    expect(said).not.toContain('"error":{')
  } finally {
    await app.stop()
  }
}, 120_000)
