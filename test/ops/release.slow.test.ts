import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'

const ROOT = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }

let scratch: string
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-release-test-'))
  await release('first', 'package,linux-x64,deploy')
}, 300_000)
const running: ChildProcess[] = []
afterEach(async () => {
  for (const child of running.splice(0)) {
    const ended = new Promise((resolve) => child.once('close', resolve))
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGINT')
      await ended
    }
  }
})
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))

async function release(folder: string, only: string): Promise<void> {
  const out = join(scratch, folder)
  await run(process.execPath, [join(ROOT, 'scripts/release.mjs'), '--out', out, '--only', only], {
    env: clean(),
  })
}

/** The environment of a user without this checkout. */
function clean(more: Record<string, string> = {}): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(SVC_|DATABASE_URL$|NODE_|VITEST|npm_package|npm_lifecycle|INIT_CWD)/.test(name),
  )
  return { ...Object.fromEntries(kept), ...more }
}

/** Starts an installed server; resolves with its address once it is printed. */
async function start(command: string, args: string[], home: string): Promise<string> {
  const child = spawn(command, args, {
    cwd: scratch,
    env: clean({ SVC_PORT: '0', SVC_DATA_DIR: home }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk
    })
  for (;;) {
    const address = /Address +(http:\S+)/.exec(said)?.[1]
    if (address !== undefined) return address
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${said}`)
    await sleep(20)
  }
}

/** Registers, sends a run with a curve, and reads the curve back. All with curl, which can be put into a namespace. */
const FIRST_CHART = `
set -e
url=$1; json='content-type: application/json'
field() { node -p "JSON.parse(require('fs').readFileSync(0, 'utf8')).$1"; }
session=$(curl -sf "$url/api/auth/register" -H "$json" -d '{"email":"you@example.com","password":"a long enough password"}' | field token)
token=$(curl -sf "$url/api/tokens" -H "$json" -H "authorization: Bearer $session" -d '{"name":"trainer","scope":"reporter"}' | field token)
curl -sf "$url/api/events/batch" -H "$json" -H "authorization: Bearer $token" -d "$2" >/dev/null
curl -sf "$url/" -H 'accept: text/html' | grep -q '<title>'
curl -sf "$url/api/batches/$3/metrics" -H "authorization: Bearer $session"
`

function aRun() {
  const first = makeEvent('batch_start')
  const of = (type: 'job_start' | 'job_epoch', data: object) => ({
    ...makeEvent(type),
    batch_id: first.batch_id,
    source: first.source,
    job_id: 'a',
    data,
  })
  return {
    batch: first.batch_id,
    events: JSON.stringify([
      first,
      of('job_start', { model: 'mlp' }),
      of('job_epoch', { epoch: 0, train_loss: 0.7 }),
      of('job_epoch', { epoch: 1, train_loss: 0.4 }),
    ]),
  }
}

test('two runs over the same sources give the same bytes, and SHA256SUMS lists all files', async () => {
  await release('second', 'package,deploy')
  const sums = (folder: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(join(scratch, folder))
        .filter((name) => name !== 'SHA256SUMS')
        .map((name) => [
          name,
          createHash('sha256')
            .update(readFileSync(join(scratch, folder, name)))
            .digest('hex'),
        ]),
    )
  const first = sums('first')
  expect(Object.keys(first).sort()).toEqual([
    `svc-${version}-deploy.tar.gz`,
    `svc-${version}-linux-x64.tar.gz`,
    `svc-${version}.cdx.json`,
    `svc-${version}.tgz`,
  ])
  const { [`svc-${version}-linux-x64.tar.gz`]: _bundle, ...both } = first
  expect(sums('second')).toEqual(both)
  const listed = readFileSync(join(scratch, 'first/SHA256SUMS'), 'utf8')
  expect(listed).toBe(
    Object.entries(first)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, sum]) => `${sum}  ${name}\n`)
      .join(''),
  )
}, 300_000)

test('the package installs into an empty prefix, is small, and shows the first curve within two minutes', async () => {
  const begun = performance.now()
  const prefix = join(scratch, 'prefix')
  // Without install scripts: nothing may need a compiler, or a network beside the registry's.
  await run(
    'npm',
    ['i', '-g', '--ignore-scripts', '--prefix', prefix, join(scratch, `first/svc-${version}.tgz`)],
    { cwd: scratch, env: clean() },
  )
  const root = join(prefix, 'lib/node_modules/svc')
  const packages = readdirSync(join(root, 'node_modules'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /(^|node_modules\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
    .map((path) => path.replace('/package.json', ''))
  expect(packages.length).toBeGreaterThan(100)
  expect(packages.length).toBeLessThanOrEqual(300)
  for (const name of ['prisma', 'typescript', 'tsx', 'vite', 'react', '@prisma/engines'])
    expect(packages).not.toContain(name)
  // With its patch (docs/decisions/0026).
  const patched = 'node_modules/postgres/src/connection.js'
  expect(readFileSync(join(root, patched), 'utf8')).toBe(readFileSync(join(ROOT, patched), 'utf8'))
  const { stdout: kilobytes } = await run('du', ['-sk', prefix])
  expect(Number.parseInt(kilobytes, 10)).toBeLessThan(250_000)
  const installed = performance.now()

  const { stdout: said } = await run(join(prefix, 'bin/svc'), ['version'], { cwd: scratch, env: clean() })
  expect(said).toContain(version)
  const address = await start(join(prefix, 'bin/svc'), ['start'], join(scratch, 'prefix-data'))
  const ready = performance.now()
  const { batch, events } = aRun()
  const { stdout: curve } = await run('bash', ['-c', FIRST_CHART, 'chart', address, events, batch])
  const chart = performance.now()
  expect(JSON.stringify(JSON.parse(curve))).toMatch(/0\.7.*0\.4/)
  const pip = await fetch(`${address}/pip/simple/svc-reporter/`, { headers: { accept: 'text/html' } })
  expect(await pip.text()).toContain('svc_reporter-')
  const s = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
  console.log(
    `from the tarball: installed in ${s(installed - begun)}, ready ${s(ready - installed)} later, ` +
      `first curve ${s(chart - ready)} later; ${Math.round(Number.parseInt(kilobytes, 10) / 1000)} MB, ${packages.length} packages`,
  )
}, 240_000)

test('the offline bundle runs without a network and stores a run', async () => {
  const folder = join(scratch, 'offline')
  mkdirSync(folder)
  await run('tar', ['-xzf', join(scratch, `first/svc-${version}-linux-x64.tar.gz`), '-C', folder])
  const { batch, events } = aRun()
  // A network namespace has a loopback device of its own and nothing else; in a user namespace any user can make one.
  const script = `
    ip link set lo up
    export SVC_PORT=8080 SVC_DATA_DIR=${folder}/data
    ${folder}/svc-${version}-linux-x64/bin/svc start >${folder}/said 2>&1 & server=$!
    for i in $(seq 600); do curl -sf http://127.0.0.1:8080/readyz >/dev/null && break; kill -0 $server || break; sleep 0.1; done
    if curl -s --max-time 3 https://registry.npmjs.org >/dev/null; then echo 'there is a network' >&2; fi
    bash -c "$0" chart http://127.0.0.1:8080 "$1" "$2" || cat ${folder}/said >&2
    kill -INT $server; wait $server`
  const { stdout, stderr } = await run(
    'unshare',
    [...NAMESPACE, 'bash', '-c', script, FIRST_CHART, events, batch],
    {
      cwd: scratch,
      env: clean(),
    },
  )
  expect(stderr).toBe('')
  expect(JSON.stringify(JSON.parse(stdout))).toMatch(/0\.7.*0\.4/)
}, 180_000)

const NAMESPACE = process.getuid?.() === 0 ? ['-n'] : ['-n', '-r']

test('the bill of materials lists every installed package, and no development package', () => {
  const bill = JSON.parse(readFileSync(join(scratch, `first/svc-${version}.cdx.json`), 'utf8')) as {
    bomFormat: string
    components: { name: string; group?: string; version: string; licenses?: unknown[] }[]
  }
  expect(bill.bomFormat).toBe('CycloneDX')
  const named = new Set(bill.components.map(({ name, version }) => `${name}@${version}`))
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const [name, version] of Object.entries<string>({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
  }))
    expect(named, name).toContain(`${name}@${version}`)
  const names = new Set(bill.components.map(({ name }) => name))
  for (const name of ['prisma', 'typescript', 'tsx', 'vite', 'vitest', 'react', 'radix-ui'])
    expect(names).not.toContain(name)
})
