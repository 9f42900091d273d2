#!/usr/bin/env node
// What `npm run check` runs: all that can be said of the sources without running them. Two steps at a time; the
// output of a step is shown when it fails, and every step is always run.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureClient } from './generate-client.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')

/**
 * The compiler of TypeScript 7, by its path: it checks in less than half the time. TypeScript 6 stays installed for what
 * calls its JavaScript interface (dependency-cruiser, scripts/conventions/statements.ts), which 7 does not have.
 */
const TSC = '../typescript-native/bin/tsc'

/** The longest first, so that the short ones fill the gaps. */
const STEPS = [
  ['types', TSC, '--noEmit'],
  ['types of the page', TSC, '--noEmit', '-p', 'web'],
  ['types of the npm package', TSC, '--noEmit', '-p', 'typescript/reporter'],
  ['layers', 'depcruise', '--config', '.dependency-cruiser.cjs', 'src', 'web'],
  ['generated files', 'tsx', 'scripts/generate.ts', '--check'],
  ['conventions', 'tsx', 'scripts/conventions.ts'],
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['dead code', 'knip', '--no-progress'],
]

async function run([title, command, ...args]) {
  const begun = Date.now()
  // npx would look for another version where this one is missing; the path says exactly which is meant.
  const child = spawn(resolve(ROOT, 'node_modules/.bin', command), args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  const output = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))
  const failure = await new Promise((done) => {
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => done(code === 0 ? null : `ended with ${signal ?? code}`))
  })
  const time = `${((Date.now() - begun) / 1000).toFixed(1)} s`
  if (failure === null) console.log(`ok      ${title} (${time})`)
  else
    console.log(
      `FAILED  ${title} (${time}): ${failure}\n\n${Buffer.concat(output).toString('utf8').trimEnd()}\n`,
    )
  return failure === null ? null : title
}

ensureClient()
const waiting = [...STEPS]
const results = []
async function work() {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) results.push(await run(step))
}
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work))
const failing = results.filter((title) => title !== null)
const failed = failing.length
// Last, because a long log is read from its end; .ci/run repeats these lines.
for (const title of failing) console.log(`FAILED check: ${title}`)
console.log(
  failed === 0
    ? `check: all ${results.length} steps passed`
    : `check: ${failed} of ${results.length} steps failed`,
)
process.exitCode = failed === 0 ? 0 : 1
