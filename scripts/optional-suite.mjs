// A suite that runs only where this machine has what it needs. Elsewhere one line says that it is skipped. Ends with one
// line, `N passed, N failed`. With `--ready` it runs nothing: the exit code says whether it could.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { vitest } from './again.mjs'
import { ensureBuilt } from './start.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')

/** Runs a command to its end, its output passed on. @returns its exit code, or why there is none */
function run(command, args, { cwd = ROOT, env = process.env } = {}) {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => done(code ?? signal))
  })
}

/**
 * @param missing what this machine lacks, for the line that says so; undefined if it has everything
 * @param only files and folders of tests
 * @param prepare starts what they need: `{ env, stop }`
 */
export async function optionalSuite({ name, missing, only, prepare }) {
  // Ctrl-C ends what runs; then what was prepared is stopped, and that is all.
  process.on('SIGINT', () => {})
  if (missing !== undefined) console.log(`${name}: skipped (${missing})`)
  if (process.argv.includes('--ready')) process.exitCode = missing === undefined ? 0 : 1
  else if (missing !== undefined) console.log('0 passed, 0 failed')
  else await runSuite({ name, only, prepare })
}

async function runSuite({ name, only, prepare }) {
  const scratch = mkdtempSync(join(tmpdir(), `svc-test-${name}-`))
  const { passed, failed, why, names } = await outcome({ only, prepare, scratch })
    .catch((error) => ({ passed: 0, failed: 1, why: `${error.stack}\n${error.stderr ?? ''}` }))
    .finally(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 10 }))
  for (const test of names ?? []) console.log(`FAILED ${name}: ${test}`)
  if (why !== undefined) console.log(`FAILED ${name}: ${why}`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
}

async function outcome({ only, prepare, scratch }) {
  // vitest would run the others and say nothing.
  const gone = only.filter((suite) => !existsSync(join(ROOT, suite)))
  if (gone.length > 0) throw new Error(`there is no ${gone.join(', ')}`)
  await ensureBuilt()
  const { env: more, stop } = await prepare()
  const runWith = (command, args, { env, ...options }) =>
    run(command, args, { ...options, env: { ...env, ...more } })
  try {
    return await vitest(runWith, { root: ROOT, scratch, only })
  } finally {
    await stop?.()
  }
}
