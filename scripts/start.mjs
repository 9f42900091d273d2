#!/usr/bin/env node
// What `npm start` runs: makes a fresh or changed clone ready (packages, build), then becomes the server. Plain Node
// without dependencies, because at first there are none.
//
//   node scripts/start.mjs [start]
//   node scripts/start.mjs demo                     the same for `npm run demo`
//   node scripts/start.mjs backup FILE …            and for every other command; `help` names them
//   node scripts/start.mjs --build-only             only installs and builds, each only when needed
//
// The server runs in this very process, so a signal reaches it once, its exit code is ours, and nothing of it is left
// when this process is killed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { DOCS_HASH, docsHash, sourceHash } from './fingerprint.mjs'
import { isAlive, ownBuild } from './own-build.mjs'
import { applyPatches, arePatched } from './patch-packages.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const MAIN = join(ROOT, 'dist/cli/main.js')
const HASH_FILE = join(ROOT, 'dist/.build-hash')
const NODE_AT_LEAST = [20, 19]

/** Installs packages and builds, each only when needed. Throws a StepFailed with one sentence and the output. */
export async function ensureBuilt() {
  checkNode()
  if (isReady()) return
  const unlock = await lock()
  try {
    if (isReady()) return // another start has done it meanwhile
    const hash = sourceHash()
    const build = !isBuilt(hash)
    if (!hasPackages({ forBuilding: build || !areDocsBuilt() })) {
      // --include=dev: the build needs them, also where NODE_ENV=production is set.
      await npm(
        'Installing packages (a minute or so, only this once)',
        'ci',
        '--include=dev',
        '--no-audit',
        '--no-fund',
      )
      // An npm that runs no install scripts leaves this out.
      if (!arePatched()) applyPatches()
    }
    if (build) {
      rmSync(HASH_FILE, { force: true })
      await npm('Building', 'run', 'build')
      mkdirSync(join(ROOT, 'dist'), { recursive: true })
      writeFileSync(HASH_FILE, hash)
    }
    if (!areDocsBuilt()) await npm('Building the documentation', 'run', 'build:docs')
  } finally {
    unlock()
  }
}

class StepFailed extends Error {
  output = ''
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [wantMajor, wantMinor] = NODE_AT_LEAST
  if (major > wantMajor || (major === wantMajor && minor >= wantMinor)) return
  throw new StepFailed(
    `Node ${NODE_AT_LEAST.join('.')} or newer is needed, and this is ${process.versions.node}. Node 24 is recommended: https://nodejs.org`,
  )
}

function isReady() {
  const built = isBuilt(sourceHash()) && areDocsBuilt()
  return built && hasPackages({ forBuilding: false })
}

function areDocsBuilt() {
  if (!existsSync(join(ROOT, 'docs'))) return true
  const file = join(ROOT, DOCS_HASH)
  return existsSync(file) && readFileSync(file, 'utf8') === docsHash()
}

function isBuilt(hash) {
  return existsSync(MAIN) && existsSync(HASH_FILE) && readFileSync(HASH_FILE, 'utf8') === hash
}

/**
 * Whether what npm says it installed is what the lock file asks for. By contents: a checkout changes times at will.
 * Optional packages may be missing (they are for other platforms), and development ones where nothing is to be built.
 */
function hasPackages({ forBuilding }) {
  if (!arePatched()) return false
  const wanted = readPackages(join(ROOT, 'package-lock.json'))
  const installed = readPackages(join(ROOT, 'node_modules/.package-lock.json'))
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true
    const found = installed[path]
    if (found) return found.version === entry.version && found.integrity === entry.integrity
    return entry.optional || entry.devOptional || entry.peer || (entry.dev && !forBuilding)
  })
}

function readPackages(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, 'utf8')).packages ?? {}
  } catch {
    return {}
  }
}

/** One start at a time installs or builds; the others wait for it. Returns what gives the turn back. */
async function lock() {
  const file = join(
    tmpdir(),
    `svc-build-${createHash('sha256').update(ROOT).digest('hex').slice(0, 16)}.lock`,
  )
  for (let waited = 0; ; waited++) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isAbandoned(file)) rmSync(file, { force: true })
    else {
      if (waited === 10) say('Waiting for another start that is building here')
      await sleep(100)
    }
  }
}

function isAbandoned(file) {
  try {
    const pid = Number(readFileSync(file, 'utf8'))
    const ageMs = Date.now() - statSync(file).mtimeMs
    if (ageMs > 15 * 60_000) return true
    if (pid === 0) return ageMs > 1000 // between its creation and its first byte
    return !isAlive(pid)
  } catch {
    return false // it has just been removed
  }
}

/** Runs npm as one step: a line before, a line after, and its whole output only when it fails. */
async function npm(title, ...args) {
  const begun = Date.now()
  say(`${title} …`)
  // Under `npm start` npm says where it is itself; a shell is for Windows, where npm is a script.
  const own = process.env.npm_execpath
  const viaNode = own !== undefined && /npm-cli\.c?js$/.test(own)
  const child = viaNode
    ? spawn(process.execPath, [own, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    : spawn('npm', args, {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'pipe'],
        shell: process.platform === 'win32',
      })
  const output = []
  child.stdout.on('data', (chunk) => output.push(chunk))
  child.stderr.on('data', (chunk) => output.push(chunk))

  // Ctrl-C reaches npm by itself; a SIGTERM is for this process alone. Either way the step ends, and we with it.
  let stoppedBy = null
  const stop = (signal) => {
    stoppedBy = signal
    child.kill('SIGTERM')
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const result = await new Promise((done) => {
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) =>
      done(code === 0 ? null : `npm ${args[0]} ended with ${signal ?? code}`),
    )
  })
  process.off('SIGINT', stop).off('SIGTERM', stop)

  if (stoppedBy) throw new StepFailed('Stopped before the server was ready.')
  if (result === null)
    return say(`${title.replace(/ \(.*/, '')}: done in ${((Date.now() - begun) / 1000).toFixed(1)} s`)
  const failure = new StepFailed(`${title.replace(/ \(.*/, '')} failed: ${result}`)
  failure.output = Buffer.concat(output).toString('utf8')
  throw failure
}

function say(line) {
  process.stderr.write(`${line}\n`)
}

/**
 * At Ctrl-C the terminal signals every process of its group, and npm, one of them, passes its own on: the server gets two,
 * and takes the second for an impatient user's. A repeat within a second is dropped before any listener hears of it.
 */
function dropRepeatedSignals() {
  const emit = process.emit
  let last = Number.NEGATIVE_INFINITY
  process.emit = (event, ...args) => {
    if (event === 'SIGINT' || event === 'SIGTERM') {
      if (performance.now() - last < 1000) return true
      last = performance.now()
    }
    return emit.call(process, event, ...args)
  }
}

/**
 * Ends the server, drained, once npm has ended. npm runs its scripts in a shell, and a SIGTERM or SIGKILL for npm ends those
 * two and tells us nothing: the server would run on with no one to stop it.
 */
function endWithNpm() {
  const shell = process.ppid
  const above = /^(sh|dash|bash|ash|zsh|ksh)$/.test(stat(shell).name) ? stat(shell).parent : null
  const timer = setInterval(() => {
    if (process.ppid === shell && (above === null || stat(shell).parent === above)) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 250)
  timer.unref()
}

/** A process's name and parent, where there is /proc. */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const end = text.lastIndexOf(')')
    return { name: text.slice(text.indexOf('(') + 1, end), parent: Number(text.slice(end + 2).split(' ')[1]) }
  } catch {
    return { name: '', parent: 0 }
  }
}

async function main() {
  const args = process.argv.slice(2)
  const buildOnly = args[0] === '--build-only'
  try {
    await ensureBuilt()
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
    if (error.output) process.stderr.write(`${error.output.trimEnd()}\n\n`)
    say(error.message)
    process.exit(1)
  }
  if (buildOnly) return
  dropRepeatedSignals()
  if (['start', 'demo'].includes(process.env.npm_lifecycle_event)) endWithNpm()
  // Without a command it starts, with any options: npm start -- --port 0.
  const command = args[0] === undefined || args[0].startsWith('-') ? ['start'] : []
  const unlock = await lock()
  const main = join(ownBuild(ROOT), 'cli/main.js')
  unlock()
  process.argv = [process.execPath, main, ...command, ...args]
  // Not sooner: npm would leave out what the build needs. GraphQL checks itself less in production.
  process.env.NODE_ENV ??= 'production'
  await import(pathToFileURL(main).href)
}

if (process.argv[1] && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url)))
  await main()
