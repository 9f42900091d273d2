import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
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
  for (const name of ['test', 'again', 'outcome-reporter', 'start', 'python'])
    cpSync(join(ROOT, `scripts/${name}.mjs`), join(root, `scripts/${name}.mjs`))
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

test('files that fail run once more, alone; those that pass then count, and are named as races', async () => {
  write(
    'test/racy.test.js',
    `${NOTE('racy')} test('works the second time', () => expect(secondTime).toBe(true)); test('works', () => {})`,
  )
  write(
    'test/hook.test.js',
    `${NOTE('hook')} test('is not at fault', () => {}); afterAll(() => expect(secondTime).toBe(true))`,
  )
  const { code, out, last, notes } = await npmTest()
  expect([code, last], out).toEqual([0, '4 passed, 0 failed'])
  expect(notes.toSorted()).toEqual([
    'run again alone: test/hook.test.js: a hook, or the file itself, failed at first',
    'run again alone: test/racy.test.js: works the second time failed at first',
  ])
  expect([ran('good'), ran('racy'), ran('hook')]).toEqual([1, 2, 2])
})

test('a file that fails twice fails, beside one that does not', async () => {
  bad('bad')
  write('test/racy.test.js', `${NOTE('racy')} test('works later', () => expect(secondTime).toBe(true))`)
  const { code, out, last, notes } = await npmTest()
  expect([code, last], out).toEqual([1, '2 passed, 1 failed'])
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
