#!/usr/bin/env node
// What `npm test` runs: every suite there is, TypeScript and Python, each to its end and side by side, since both often
// wait. The last line is the sum of all, `N passed, N failed`; a suite that could not run counts as a failure.
// When at most three files of a suite fail they run once more, alone, and a test that passes then is named as a race.
// Plain Node, because a fresh clone has no packages.
//
//   npm test [-- suite …]                the fast tier; only those suites: vitest, python/reporter, …
//   npm run test:page [-- suite …]       the page in a browser: the files named *.page.test.ts
//   npm run test:slow [-- suite …]       the slow tier: kills, overload, long properties, whole processes. In TypeScript
//                                        the files named *.slow.test.ts, in Python the tests marked `slow`.
import { spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pytest, vitest } from './again.mjs'
import { memoryFolder } from './memory.mjs'
import { preparePython } from './python.mjs'
import { ensureBuilt } from './start.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
/** A suite that takes longer hangs. */
const SUITE_MS = 40 * 60_000
const TIER = ['slow', 'page'].find((name) => process.argv.includes(`--${name}`)) ?? 'fast'
const SLOW = TIER === 'slow'
/**
 * Of each Python package. Most of their tests wait for processes and time limits, so both packages run at once, and beside
 * the TypeScript tests: one test of each, which leaves the processors to those. The slow tier kills processes: one test of
 * each at a time.
 */
const workersBeside = (typescript) => (SLOW || typescript ? 1 : availableParallelism())
const scratch = mkdtempSync(join(tmpdir(), 'svc-npm-test-'))
/** The data of the service that the Python suites run against. */
const data = memoryFolder('svc-npm-test-').path
const running = new Set()

/**
 * Runs a command to its end.
 * @param output where it writes: a file descriptor, or passed on
 * @returns its exit code, or why there is none
 */
function run(command, args, { cwd = ROOT, env = process.env, output = 'inherit' } = {}) {
  return new Promise((done) => {
    // A process group of its own, so that its children end with it.
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', output, output], detached: true })
    running.add(child)
    const patience = setTimeout(() => {
      console.error(`\n${command} is stopped after ${SUITE_MS / 60_000} minutes`)
      end(child, 'SIGKILL')
    }, SUITE_MS)
    const settle = (result) => {
      clearTimeout(patience)
      running.delete(child)
      done(result)
    }
    child.once('error', (error) => settle(error.message))
    child.once('close', (code, signal) => settle(code ?? signal))
  })
}

function end(child, signal) {
  try {
    process.kill(-child.pid, signal)
  } catch {
    // it has ended already
  }
}
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const child of running) end(child, signal)
    process.exit(1)
  })
}
process.on('exit', () => {
  for (const folder of [scratch, data]) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})

/** ruff, mypy and pytest of one Python package, against the real server; their output is in the file `log`. */
async function python(folder, { bin, server, workers }) {
  const cwd = join(ROOT, folder)
  const log = join(scratch, `${folder.replace('/', '-')}.log`)
  const output = openSync(log, 'w')
  try {
    return { log, ...(await checkAndTest({ folder, cwd, bin, server, workers, output })) }
  } finally {
    closeSync(output)
  }
}

async function checkAndTest({ folder, cwd, bin, server, workers, output }) {
  const runHere = (command, args, options) => run(command, args, { ...options, output })
  const say = (line) => writeSync(output, `${line}\n`)
  const steps = SLOW
    ? []
    : [
        ['ruff check', join(bin, 'ruff'), ['check', '.']],
        ['ruff format', join(bin, 'ruff'), ['format', '--check', '.']],
        ['mypy', join(bin, 'python'), ['-m', 'mypy']],
      ]
  let passed = 0
  const why = []
  for (const [title, command, args] of steps) {
    say(`\n${folder}: ${title}`)
    if ((await runHere(command, args, { cwd })) === 0) passed++
    else why.push(title)
  }
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    SVC_TEST_URL: server.url,
    SVC_TEST_TOKEN: server.token,
    SVC_TEST_SESSION: server.session,
  }
  say(`\n${folder}: pytest`)
  const tests = await pytest(runHere, {
    cwd,
    python: join(bin, 'python'),
    env,
    scratch,
    name: folder.replace('/', '-'),
    slow: SLOW,
    workers,
  })
  if (tests.why) why.push(tests.why)
  return {
    passed: passed + tests.passed,
    failed: steps.length - passed + tests.failed,
    why: why.join(', ') || undefined,
    names: tests.names,
    notes: tests.notes,
  }
}

/** The built service on data of its own, with an account and a reporter token, as a Python suite needs it. */
async function startServer() {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SVC_|DATABASE_URL$)/.test(name)),
  )
  const env = {
    ...clean,
    SVC_PORT: '0',
    SVC_DATA_DIR: data,
    SVC_LOG_LEVEL: 'error',
    // Every test registers people of its own, all from one address.
    SVC_REGISTRATIONS_PER_HOUR: '100000',
  }
  const main = join(ROOT, 'dist/cli/main.js')
  const child = spawn(process.execPath, [main], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
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
  const account = { email: 'tests@example.com', password: 'correct horse battery' }
  const { token: session } = await post('/api/auth/register', account)
  const { token } = await post('/api/tokens', { name: 'tests', scope: 'reporter' }, session)
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return { url, token, session, stop }
}

const pythonPackages = () =>
  readdirSync(join(ROOT, 'python'), { withFileTypes: true })
    .filter((entry) => existsSync(join(ROOT, 'python', entry.name, 'pyproject.toml')))
    .map((entry) => `python/${entry.name}`)

/** The suites of Python packages, against one server. */
async function pythonSuites(suite, { packages, preparing, workers }) {
  let server
  await suite('python', async () => {
    await preparing
    server = await startServer()
    return { passed: 0, failed: 0 }
  })
  if (server === undefined) return
  const { bin } = await preparing
  await Promise.all(packages.map((folder) => suite(folder, () => python(folder, { bin, server, workers }))))
  await server.stop()
}

async function main() {
  const wanted = process.argv.slice(2).filter((argument) => argument !== `--${TIER}`)
  const chosen = (name) => wanted.length === 0 || wanted.includes(name)
  const results = []
  const suite = async (name, work) => {
    const begun = Date.now()
    const result = await work().catch((error) => ({ passed: 0, failed: 1, why: error.message }))
    results.push({ name, seconds: Math.round((Date.now() - begun) / 1000), ...result })
  }

  await suite('build', async () => {
    await ensureBuilt().catch((error) => {
      throw new Error(`${error.message}\n${error.output ?? ''}`)
    })
    return { passed: 0, failed: 0 }
  })
  const packages = TIER === 'page' ? [] : pythonPackages().filter(chosen)
  // Mostly waiting for the network, so it goes beside the first suite.
  const preparing = packages.length === 0 ? undefined : preparePython(packages)
  preparing?.catch(() => {}) // told where it is awaited
  const typescript = async () => {
    if (chosen('vitest')) await suite('vitest', () => vitest(run, { root: ROOT, scratch, tier: TIER }))
  }
  const inPython = async () => {
    const workers = workersBeside(chosen('vitest'))
    if (packages.length > 0) await pythonSuites(suite, { packages, preparing, workers })
  }
  await Promise.all([typescript(), inPython()])

  for (const { log } of results) if (log !== undefined) process.stdout.write(readFileSync(log))
  const notes = results.flatMap((result) => result.notes ?? [])
  if (notes.length > 0)
    console.log(`\nRaces to mend before their date in test/quarantine.json:\n${notes.join('\n')}`)
  console.log('')
  for (const { name, seconds, passed, failed, why } of results) {
    if (passed + failed === 0 && why === undefined) continue
    console.log(
      `${name}: ${passed} passed, ${failed} failed (${seconds} s)${why === undefined ? '' : `: ${why}`}`,
    )
  }
  // Last, because a long log is read from its end; .ci/run repeats these lines.
  for (const { name, names = [], why } of results) {
    for (const one of names) console.log(`FAILED ${name}: ${one}`)
    if (why !== undefined) console.log(`FAILED ${name}: ${why.split('\n')[0]}`)
  }
  const sum = (key) => results.reduce((total, result) => total + result[key], 0)
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
  process.exitCode = sum('failed') === 0 && sum('passed') > 0 ? 0 : 1
}

await main()
