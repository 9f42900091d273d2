// How scripts/test.mjs runs vitest and pytest. When only a few files fail, they run once more, alone, to tell a race from
// a fault. A race is a failure too, unless test/quarantine.json lists the test: then it counts as passed and is named.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** More failed files than this are no accident. */
const MAX_AGAIN = 3
const REPORTER = fileURLToPath(new URL('outcome-reporter.mjs', import.meta.url))
const QUARANTINE = resolve(fileURLToPath(import.meta.url), '../../test/quarantine.json')
/** A race stays in quarantine for at most two weeks. */
const MAX_DAYS = 14
const DAY_MS = 86_400_000

/** What vitest gets for each tier: part of the files' names. */
const FILES = {
  fast: ['--exclude', '**/*.slow.test.*', '--exclude', '**/*.page.test.*'],
  slow: ['.slow.test.'],
  page: ['.page.test.'],
}

/**
 * Every test file of one tier of `root` by vitest, on a checkout that is built.
 * @param run runs a command to its end: (command, args, { cwd, env }) to its exit code
 * @param tier `slow` for the files named `*.slow.test.ts`, `page` for `*.page.test.ts`, `fast` for all others
 * @param only these files in place of a tier
 * @returns counts; `names` of the tests that failed; `why` of a failure that is no test's; `notes` of races in quarantine
 */
export async function vitest(run, { root, scratch, tier, only }) {
  const once = async (report, ...more) => {
    const env = { SVC_TEST_BUILT: '1', ...process.env, TEST_OUTCOME: join(scratch, report) }
    const args = ['run', '--reporter=default', `--reporter=${REPORTER}`, ...more]
    const code = await run(join(root, 'node_modules/.bin/vitest'), args, { cwd: root, env })
    return { code, ...readJson(join(scratch, report)) }
  }
  const first = await once('vitest.json', ...(only ?? FILES[tier]))
  if (first.files === undefined)
    return { passed: 0, failed: 1, why: `vitest ended with ${first.code} and no report` }
  const failures = failuresIn(first.files, root)
  const failedFiles = first.files.filter((one) => !one.ok).map(({ file }) => file)
  const passed = sum(first.files.map((one) => one.passed))
  // An error outside of any test can come from every file: no second run makes up for it.
  const mayBeRaces = failures.length > 0 && failedFiles.length <= MAX_AGAIN && first.unhandled === 0
  if (!mayBeRaces) return verdict({ passed, failures, code: first.code, runner: 'vitest' })
  sayAgain(failures, failedFiles.length)
  const again = await once('vitest-again.json', '--no-file-parallelism', ...failedFiles)
  const still = again.files === undefined ? failures : failuresIn(again.files, root)
  // A file that failed as a whole has run none of its tests, or not all: the second run counts them.
  const recovered = sum((again.files ?? []).map((one) => one.passed))
  const counted = sum(first.files.filter((one) => one.ok).map((one) => one.passed)) + recovered
  return verdict({ passed: counted, failures: still, races: without(failures, still), runner: 'vitest' })
}

/** The tests that failed, each `{ file, name, why }` with the file's path from `root`. */
function failuresIn(files, root) {
  return files
    .filter((one) => !one.ok)
    .flatMap(({ file, failures }) =>
      // A failed hook, or a file that cannot be loaded, has no failed test.
      (failures.length > 0 ? failures : [{ name: 'a hook, or the file itself' }]).map((one) => ({
        ...one,
        file: relative(root, file),
      })),
    )
}

const title = ({ file, name }) => `${file}: ${name}`
/** What a test said of its failure is often all that is left of a run elsewhere. */
const MAX_WHY = 400
const failure = (one, remark = '') => {
  const why = one.why?.replace(/\s+/g, ' ').trim().slice(0, MAX_WHY)
  return title(one) + remark + (why ? `: ${why}` : '')
}
const without = (all, some) => {
  const titles = new Set(some.map(title))
  return all.filter((one) => !titles.has(title(one)))
}

/**
 * What a suite reports.
 * @param passed how many tests passed, races included
 * @param failures the tests that failed, in both runs if there were two
 * @param races the tests that failed in the first run only
 */
function verdict({ passed, failures, races = [], code = 0, runner }) {
  if (code !== 0 && failures.length === 0) return { passed, failed: 1, why: `${runner} ended with ${code}` }
  const listed = quarantined()
  const open = races.filter((one) => !listed.some((test) => title(one).startsWith(test)))
  return {
    passed: passed - open.length,
    failed: failures.length + open.length,
    names: [
      ...failures.map((one) => failure(one)),
      ...open.map((one) => failure(one, ' (a race: it passed when run alone)')),
    ],
    notes: without(races, open).map((one) => `a race in quarantine: ${title(one)}`),
  }
}

/**
 * The tests of test/quarantine.json whose date has not passed: each the beginning of `file: name`.
 * @throws Error for an entry without a reason, or with a date more than two weeks ahead
 */
export function quarantined(file = QUARANTINE, now = Date.now()) {
  if (!existsSync(file)) return []
  return JSON.parse(readFileSync(file, 'utf8')).flatMap(({ test, until, reason }) => {
    const end = Date.parse(`${until}T23:59:59Z`)
    if (!test || !reason || Number.isNaN(end))
      throw new Error('test/quarantine.json: an entry has test, until (YYYY-MM-DD) and reason')
    if (end - now > (MAX_DAYS + 1) * DAY_MS)
      throw new Error(`test/quarantine.json: ${test}: ${until} is more than ${MAX_DAYS} days ahead`)
    return end >= now ? [test] : []
  })
}

/** pytest's exit code where a package has no test of that tier. */
const NO_TESTS = 5

/**
 * The tests of one tier of the Python package in `cwd` by pytest: marked `slow`, or not; otherwise as `vitest`.
 * More `workers` than one need pytest-xdist in that environment; a file stays with one of them, which imports what it needs.
 */
export async function pytest(run, { cwd, python, env, scratch, name, slow = false, workers = 1 }) {
  const tier = slow ? 'slow' : 'not slow'
  const once = async (report, ...more) => {
    const log = join(scratch, `${report}.jsonl`)
    const code = await run(python, ['-m', 'pytest', '-m', tier, `--report-log=${log}`, ...more], { cwd, env })
    return { code: code === NO_TESTS && slow ? 0 : code, ...readReportLog(log) }
  }
  const first = await once(name, ...(workers > 1 ? ['-n', `${workers}`, '--dist', 'loadfile'] : []))
  const files = new Set(first.failures.map(({ file }) => file))
  // 1 is pytest's exit code for failed tests, and for nothing else.
  if (first.code !== 1 || files.size === 0 || files.size > MAX_AGAIN)
    return verdict({ ...first, runner: 'pytest' })
  sayAgain(first.failures, files.size)
  const again = await once(`${name}-again`, '--last-failed', '--last-failed-no-failures=none')
  // A run that ended early proves nothing about the tests that it did not reach.
  const still = again.passed + again.failures.length < first.failures.length ? first.failures : again.failures
  const races = without(first.failures, still)
  return verdict({ passed: first.passed + races.length, failures: still, races, runner: 'pytest' })
}

/** What pytest-reportlog wrote: one JSON object a line, one line a phase (setup, call, teardown) of a test. */
function readReportLog(log) {
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : []
  const reports = lines
    .map((line) => JSON.parse(line))
    .filter((one) => /^(Test|Collect)Report$/.test(one.$report_type))
  const failed = new Map(
    reports
      .filter((one) => one.outcome === 'failed')
      .map((one) => [one.nodeid, one.longrepr?.reprcrash?.message]),
  )
  const passed = reports.filter(
    (one) => one.when === 'call' && one.outcome === 'passed' && !failed.has(one.nodeid),
  )
  const failures = [...failed].map(([id, why]) => {
    const [file, ...name] = id.split('::')
    return { file, name: name.join('::') || 'the file itself', why }
  })
  return { failures, passed: passed.length }
}

function sayAgain(failures, files) {
  const what = files === 1 ? 'One file failed: it runs' : `Only ${files} files failed: they run`
  const lines = failures.map((one) => `run again alone: ${title(one)} failed at first`)
  console.log(`\n${what} once more, alone, to tell a race from a fault.\n${lines.join('\n')}\n`)
}

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0)

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
