import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

// `npm test -- vitest` in a small project of its own, whose tests note that they ran.
const ROOT = join(import.meta.dirname, '../..')
let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-again-'))
  for (const file of readdirSync(join(ROOT, 'scripts')).filter((name) => name.endsWith('.mjs')))
    cpSync(join(ROOT, 'scripts', file), join(root, 'scripts', file))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  mkdirSync(join(root, 'python'))
  write('package-lock.json', JSON.stringify({ name: 'project', lockfileVersion: 3, packages: {} }))
  const scripts = { build: 'node build.mjs' }
  write('package.json', JSON.stringify({ name: 'project', type: 'module', scripts }))
  write('build.mjs', `import { cpSync } from 'node:fs'; cpSync('src/main.js', 'dist/cli/main.js')`)
  write('src/main.js', '')
  write('vitest.config.mjs', `export default { cacheDir: '.cache', test: { include: ['test/*.test.js'] } }`)
  write('test/good.test.js', `${NOTE('good')} test('is good', () => {})`)
})
afterEach(() => rmSync(root, { recursive: true, force: true, maxRetries: 10 }))

function write(name: string, content: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true })
  writeFileSync(join(root, name), content)
}
const NOTE = (name: string): string =>
  `import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
  import { afterAll, expect, test } from 'vitest'
  appendFileSync('ran', '${name} ')
  const secondTime = existsSync('${name}.been')
  writeFileSync('${name}.been', '')
`
const bad = (name: string) =>
  write(`test/${name}.test.js`, `${NOTE(name)} test('never works', () => expect(1).toBe(2))`)
const ran = (name: string): number =>
  existsSync(join(root, 'ran')) ? readFileSync(join(root, 'ran'), 'utf8').split(`${name} `).length - 1 : 0

async function npmTest(): Promise<{
  code: number | null
  out: string
  last: string | undefined
  notes: string[]
}> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_)/.test(name)),
  )
  const child = spawn(process.execPath, [join(root, 'scripts/test.mjs'), 'vitest'], {
    cwd: root,
    env: { ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (out += chunk))
  const [code] = await once(child, 'close')
  const lines = out.trim().split('\n')
  const notes = lines.filter((line) => line.startsWith('run again alone: '))
  return { code, out, last: lines.at(-1), notes: [...new Set(notes)] }
}
const daysAhead = (days: number): string =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
const quarantine = (test: string, until: string): void =>
  write('test/quarantine.json', JSON.stringify([{ test, until, reason: 'not yet understood' }]))
const racy = (): void =>
  write(
    'test/racy.test.js',
    `${NOTE('racy')} test('works the second time', () => expect(secondTime).toBe(true)); test('works', () => {})`,
  )

test('a test that fails, and passes when run alone, is named as a race and fails the run', async () => {
  racy()
  write(
    'test/hook.test.js',
    `${NOTE('hook')} test('is not at fault', () => {}); afterAll(() => expect(secondTime).toBe(true))`,
  )
  const { code, out, last, notes } = await npmTest()
  expect([code, last], out).toEqual([1, '2 passed, 2 failed'])
  expect(notes.toSorted()).toEqual([
    'run again alone: test/hook.test.js: a hook, or the file itself failed at first',
    'run again alone: test/racy.test.js: works the second time failed at first',
  ])
  expect(out).toContain(
    'FAILED vitest: test/racy.test.js: works the second time (a race: it passed when run alone): expected false to be true',
  )
  expect([ran('good'), ran('racy'), ran('hook')]).toEqual([1, 2, 2])
})

test('a race in quarantine counts as passed, and is named', async () => {
  racy()
  quarantine('test/racy.test.js: works the second time', daysAhead(14))
  const { code, out, last } = await npmTest()
  expect([code, last], out).toEqual([0, '3 passed, 0 failed'])
  expect(out).toContain('a race in quarantine: test/racy.test.js: works the second time')
})

test.each([
  ['whose date has passed is a race', -1, '2 passed, 1 failed'],
  ['with a date more than two weeks ahead is refused', 16, '0 passed, 1 failed'],
])('an entry of the quarantine %s', async (_, days, expected) => {
  racy()
  quarantine('test/racy.test.js', daysAhead(days))
  const { code, out, last } = await npmTest()
  expect([code, last], out).toEqual([1, expected])
})

test('a test in quarantine that fails twice fails', async () => {
  bad('bad')
  quarantine('test/bad.test.js', daysAhead(1))
  const { code, out, last } = await npmTest()
  expect([code, last], out).toEqual([1, '1 passed, 1 failed'])
})

test('a file that fails twice fails, beside one that does not', async () => {
  bad('bad')
  write('test/racy.test.js', `${NOTE('racy')} test('works later', () => expect(secondTime).toBe(true))`)
  const { code, out, last, notes } = await npmTest()
  expect([code, last], out).toEqual([1, '1 passed, 2 failed'])
  expect(notes).toHaveLength(2)
  expect([ran('bad'), ran('racy')]).toEqual([2, 2])
})

test('a file that cannot be loaded fails twice, though it has no test', async () => {
  write('test/broken.test.js', `${NOTE('broken')} import './not-there.js'`)
  const { code, out, last } = await npmTest()
  expect([code, last], out).toEqual([1, '1 passed, 1 failed'])
})

test('more than three are not run again: that is no race', async () => {
  const names = ['one', 'two', 'three', 'four']
  for (const name of names) bad(name)
  const { code, out, last, notes } = await npmTest()
  expect([code, last, notes], out).toEqual([1, '1 passed, 4 failed', []])
  expect(names.map(ran)).toEqual([1, 1, 1, 1])
})

test('an error that belongs to no test is not made up for', async () => {
  write('test/racy.test.js', `${NOTE('racy')} test('works later', () => expect(secondTime).toBe(true))`)
  write(
    'test/stray.test.js',
    `${NOTE('stray')} test('leaves something behind', async () => {
      if (!secondTime) void Promise.reject(new Error('stray'))
      await new Promise((resolve) => setTimeout(resolve, 50))
    })`,
  )
  const { code, out, last } = await npmTest()
  expect([code, last], out).toEqual([1, '2 passed, 1 failed'])
  expect(ran('racy')).toBe(1)
})
