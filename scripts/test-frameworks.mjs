#!/usr/bin/env node
// What `npm run test:frameworks` runs: the reporter's integrations with the real libraries (PyTorch, Transformers,
// Lightning, XGBoost, …) against a real server. The libraries take 6 GB and about a minute to install; they stay in
// .venv-frameworks until their list changes. The last line is `N passed, N failed`.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pytest } from './again.mjs'
import { ensureBuilt } from './start.mjs'

const exec = promisify(execFile)
const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const REPORTER = join(ROOT, 'python/reporter')
const LIST = join(REPORTER, 'requirements-frameworks.txt')
const VENV = join(ROOT, '.venv-frameworks')
const PYTHON = join(VENV, 'bin/python')
const STAMP = join(VENV, 'made-from')
/** Installs several packages at once, which makes minutes into one. */
const INSTALLER = 'uv==0.13.9'
const SUITE_MS = 15 * 60_000

async function prepare() {
  const stamp = createHash('sha256').update(INSTALLER).update(readFileSync(LIST)).digest('hex')
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp) return
  rmSync(VENV, { recursive: true, force: true })
  const options = { cwd: ROOT, maxBuffer: 64 * 1024 * 1024, timeout: 12 * 60_000 }
  await exec('python3', ['-m', 'venv', VENV], options)
  await exec(PYTHON, ['-m', 'pip', 'install', '--quiet', INSTALLER], options)
  // uv reads certificates of its own unless it is given those that pip was given.
  const certificates = process.env.SSL_CERT_FILE ?? process.env.PIP_CERT
  const env = { ...process.env, ...(certificates && { SSL_CERT_FILE: certificates }) }
  await exec(join(VENV, 'bin/uv'), ['pip', 'install', '--python', PYTHON, '-r', LIST], { ...options, env })
  writeFileSync(STAMP, stamp)
}

/** Runs a command to its end, its output passed on. @returns its exit code, or why there is none */
function run(command, args, { cwd, env }) {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'], detached: true })
    const limit = setTimeout(() => {
      console.error(`\nthe suite is stopped after ${SUITE_MS / 60_000} minutes`)
      process.kill(-child.pid, 'SIGKILL')
    }, SUITE_MS)
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => {
      clearTimeout(limit)
      done(code ?? signal)
    })
  })
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
  }
  result = await pytest(run, options)
} catch (error) {
  result = { passed: 0, failed: 1, why: (error.stderr || error.message).trim().slice(-3000) }
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 10 })
}
for (const note of result.notes ?? []) console.log(note)
if (result.why !== undefined) console.log(result.why)
console.log(`${result.passed} passed, ${result.failed} failed`)
process.exitCode = result.failed === 0 && result.passed > 0 ? 0 : 1
