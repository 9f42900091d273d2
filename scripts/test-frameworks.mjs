#!/usr/bin/env node
// What `npm run test:frameworks` runs: the reporter's integrations with the real libraries (PyTorch, Transformers,
// Lightning, XGBoost, Ray, …) against a real server, in 20 minutes at most. The libraries take 6 GB and about a minute to
// install; they stay in .venv-frameworks until their list or Python changes. The last line is `N passed, N failed`.
//
//   node scripts/test-frameworks.mjs --prepare    only installs the libraries
//
// requirements-frameworks.in names the libraries; requirements-frameworks.txt is what they resolve to on every supported
// Python:  uv pip compile --universal --python-version 3.10 --fork-strategy requires-python --no-header \
//            python/reporter/requirements-frameworks.in -o python/reporter/requirements-frameworks.txt
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pytest } from './again.mjs'
import { findPython, makeEnvironment } from './python.mjs'
import { ensureBuilt } from './start.mjs'

const exec = promisify(execFile)
const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const REPORTER = join(ROOT, 'python/reporter')
const NAMES = join(REPORTER, 'requirements-frameworks.in')
const LOCK = join(REPORTER, 'requirements-frameworks.txt')
const VENV = join(ROOT, '.venv-frameworks')
const PYTHON = join(VENV, 'bin/python')
const STAMP = join(VENV, 'made-from')
/** Installs several packages at once, which makes minutes into one. */
const INSTALLER = 'uv==0.13.9'
/** Of the whole command: libraries, build and tests. */
const LIMIT_MS = 20 * 60_000
/** The libraries and the installer's cache of them. */
const DISK_GIB = 10
const begun = Date.now()
const leftMs = () => Math.max(1_000, LIMIT_MS - (Date.now() - begun))

/** @throws Error in a few lines: no Python, no room, or what the installer said */
async function prepare() {
  const python = await findPython()
  const stamp = createHash('sha256')
    .update([INSTALLER, python.path, python.version, readFileSync(LOCK)].join('\0'))
    .digest('hex')
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp) return
  rmSync(VENV, { recursive: true, force: true })
  const { bavail, bsize } = statfsSync(ROOT)
  const free = (bavail * bsize) / 2 ** 30
  if (free < DISK_GIB)
    throw new Error(
      `the libraries need ${DISK_GIB} GiB on the disk of ${ROOT}, where ${free.toFixed(1)} GiB are free`,
    )
  await makeEnvironment(python.path, VENV)
  const options = { cwd: ROOT, maxBuffer: 64 * 1024 * 1024, timeout: leftMs() }
  await exec(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', INSTALLER], options)
  // uv reads certificates of its own unless it is given those that pip was given.
  const certificates = process.env.SSL_CERT_FILE ?? process.env.PIP_CERT
  const env = { ...process.env, ...(certificates && { SSL_CERT_FILE: certificates }) }
  // A library without a wheel for this machine is a failure that says so, not an hour of compiling.
  const wheels = readFileSync(NAMES, 'utf8')
    .split('\n')
    .filter((line) => /^[a-z]/.test(line) && !line.startsWith('hydra-core'))
    .flatMap((line) => ['--only-binary', line.split(';')[0].trim()])
  const args = ['pip', 'install', '--python', PYTHON, ...wheels, '-r', LOCK]
  await exec(join(VENV, 'bin/uv'), args, { ...options, timeout: leftMs(), env }).catch((error) => {
    const why = error.killed ? 'it took too long' : (error.stderr || error.message).trim().slice(-3000)
    throw new Error(
      `the libraries of requirements-frameworks.txt could not be installed for Python ${python.version}:\n${why}`,
    )
  })
  writeFileSync(STAMP, stamp)
}

/** Runs a command to its end, its output passed on. @returns its exit code, or why there is none */
function run(command, args, { cwd, env }) {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'], detached: true })
    const limit = setTimeout(() => {
      console.error(`\nthe suite is stopped after ${LIMIT_MS / 60_000} minutes`)
      process.kill(-child.pid, 'SIGKILL')
    }, leftMs())
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => {
      clearTimeout(limit)
      done(code ?? signal)
    })
  })
}

if (process.argv.includes('--prepare')) {
  await prepare()
  process.exit()
}

const scratch = mkdtempSync(join(tmpdir(), 'svc-test-frameworks-'))
let result
try {
  await Promise.all([prepare(), ensureBuilt()])
  const env = { ...process.env, PYTHONPATH: join(REPORTER, 'src') }
  const options = {
    cwd: join(REPORTER, 'tests_frameworks'),
    python: PYTHON,
    env,
    scratch,
    name: 'frameworks',
    workers: availableParallelism(),
  }
  result = await pytest(run, options)
} catch (error) {
  result = { passed: 0, failed: 1, why: (error.stderr || error.message).trim().slice(-3000) }
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 10 })
}
for (const note of result.notes ?? []) console.log(note)
for (const name of result.names ?? []) console.log(`FAILED frameworks: ${name}`)
if (result.why !== undefined) console.log(`${result.why}\nFAILED frameworks: ${result.why.split('\n')[0]}`)
console.log(`${result.passed} passed, ${result.failed} failed`)
process.exitCode = result.failed === 0 && result.passed > 0 ? 0 : 1
