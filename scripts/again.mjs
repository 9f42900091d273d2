// How scripts/test.mjs runs vitest and pytest: when only few files fail, those run once more, alone. A test that passes
// then counts as passed, and is named as one that failed at first: that is a race, to be found and mended.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** More failed files than this are no accident. */
const MOST_AGAIN = 3
const REPORTER = fileURLToPath(new URL('outcome-reporter.mjs', import.meta.url))

/** Files of this name are of the slow tier. */
const SLOW = '.slow.test.'

/**
 * Every test file of one tier of `root` by vitest, on a checkout that is built.
 * @param run runs a command to its end: (command, args, { cwd, env }) to its exit code
 * @param slow whether it is the slow tier: files named `*.slow.test.ts`, all others otherwise
 * @returns counts; `names` of the tests that failed; `why` of a failure that is no test's; `notes`, what failed at first
 */
export async function vitest(run, { root, scratch, slow }) {
  const once = async (report, ...more) => {
    const env = { SVC_TEST_BUILT: '1', ...process.env, TEST_OUTCOME: join(scratch, report) }
    const args = ['run', '--reporter=default', `--reporter=${REPORTER}`, ...more]
    const code = await run(join(root, 'node_modules/.bin/vitest'), args, { cwd: root, env })
    return { code, ...readJson(join(scratch, report)) }
  }
  const first = await once('vitest.json', ...(slow ? [SLOW] : ['--exclude', `**/*${SLOW}*`]))
  if (first.files === undefined)
    return { passed: 0, failed: 1, why: `vitest ended with ${first.code} and no report` }
  const outcomes = new Map(first.files.map((one) => [one.file, one]))
  const failed = first.files.filter((one) => !one.ok)
  let { code } = first
  let notes = []
  // An error that belongs to no test may be of any file: nothing makes up for it.
  if (failed.length > 0 && failed.length <= MOST_AGAIN && first.unhandled === 0) {
    notes = failed.flatMap(({ file, failures }) =>
      (failures.length > 0 ? failures : ['a hook, or the file itself,']).map(
        (name) => `run again alone: ${relative(root, file)}: ${name} failed at first`,
      ),
    )
    sayAgain(notes, failed.length)
    const again = await once('vitest-again.json', '--no-file-parallelism', ...failed.map(({ file }) => file))
    code = again.code
    for (const one of again.files ?? []) if (outcomes.has(one.file)) outcomes.set(one.file, one)
  }
  const all = [...outcomes.values()]
  const passed = sum(all.map((one) => one.passed))
  // A file that cannot be loaded has no tests that could fail.
  const failures = sum(all.filter((one) => !one.ok).map((one) => one.failures.length || 1))
  if (code !== 0 && failures === 0) return { passed, failed: 1, why: `vitest ended with ${code}`, notes }
  const names = all
    .filter((one) => !one.ok)
    .flatMap(({ file, failures }) =>
      (failures.length > 0 ? failures : ['a hook, or the file itself']).map(
        (name) => `${relative(root, file)}: ${name}`,
      ),
    )
  return { passed, failed: failures, names, notes }
}

/** pytest's exit code where a package has no test of that tier. */
const NO_TESTS = 5

/** The tests of one tier of the Python package in `cwd` by pytest: marked `slow`, or not; otherwise as `vitest`. */
export async function pytest(run, { cwd, python, env, scratch, name, slow }) {
  const tier = slow ? 'slow' : 'not slow'
  const once = async (title, ...more) => {
    const report = join(scratch, `${title}.xml`)
    const args = ['-m', 'pytest', '-m', tier, `--junitxml=${report}`, ...more]
    const code = await run(python, args, { cwd, env })
    return { code: code === NO_TESTS && slow ? 0 : code, ...readJunit(report) }
  }
  const first = await once(name)
  const files = new Set(first.failures.map(({ file }) => file))
  // 1 is pytest's word for tests that failed, and for nothing else.
  if (first.code !== 1 || files.size === 0 || files.size > MOST_AGAIN) return told(first, first.passed)
  const notes = first.failures.map((one) => `run again alone: ${one.file}: ${one.name} failed at first`)
  sayAgain(notes, files.size)
  const again = await once(`${name}-again`, '--last-failed', '--last-failed-no-failures=none')
  const missing = first.failures.length - again.passed - again.failures.length
  if (missing > 0) return { ...told(first, first.passed), notes }
  return { ...told(again, first.passed + again.passed), notes }
}

function told({ code, failures }, passed) {
  if (code !== 0 && failures.length === 0) return { passed, failed: 1, why: `pytest ended with ${code}` }
  return { passed, failed: failures.length, names: failures.map(({ file, name }) => `${file}: ${name}`) }
}

/** What pytest wrote: a `<testcase>` each, with `<failure>`, `<error>` or `<skipped>` within. */
function readJunit(report) {
  const text = existsSync(report) ? readFileSync(report, 'utf8') : ''
  const head = /<testsuite [^>]*>/.exec(text)?.[0] ?? ''
  const count = (name) => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? 0)
  const cases = text.split(/<testcase /).slice(1)
  const attribute = (one, name) => new RegExp(`^[^>]*?\\b${name}="([^"]*)"`).exec(one)?.[1] ?? ''
  const failures = cases
    .filter((one) => /^[^>]*[^/]>\s*<(failure|error)\b/.test(one))
    .map((one) => ({ file: attribute(one, 'classname'), name: attribute(one, 'name') }))
  return { failures, passed: count('tests') - count('failures') - count('errors') - count('skipped') }
}

function sayAgain(notes, files) {
  const what = files === 1 ? 'One file failed: it runs' : `Only ${files} files failed: they run`
  console.log(`\n${what} once more, alone, to tell a race from a fault.\n${notes.join('\n')}\n`)
}

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0)

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
