import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'

// The launcher in a small project of its own: its build copies src/main.js, and that stands in for the server.
let root: string
const children: ChildProcess[] = []
const SCRIPTS = {
  start: 'node scripts/start.mjs',
  build: 'node build.mjs',
  'build:docs': 'node build-docs.mjs',
}
const lock = (name: string) =>
  JSON.stringify({ name, version: '1.0.0', lockfileVersion: 3, packages: { '': { name } } })

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-start-'))
  mkdirSync(join(root, 'src'))
  for (const script of ['start.mjs', 'own-build.mjs', 'fingerprint.mjs', 'patch-packages.mjs'])
    cpSync(new URL(`../../scripts/${script}`, import.meta.url), join(root, 'scripts', script))
  write('package-lock.json', lock('project'))
  write('package.json', JSON.stringify({ name: 'project', type: 'module', scripts: SCRIPTS }))
  write(
    'build.mjs',
    `import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
    appendFileSync('builds', 'x')
    console.log('the compiler speaks')
    mkdirSync('src/db/generated', { recursive: true })
    appendFileSync('src/db/generated/client.ts', '// generated')
    cpSync('src/main.js', 'dist/cli/main.js')`,
  )
  write(
    'src/main.js',
    // It listens before it speaks: the tests send signals as soon as they have read its line.
    `import { readFileSync } from 'node:fs'
    if (process.argv.includes('--wait')) {
      setInterval(() => {}, 1000)
      let signals = 0
      // What it serves, read when it is asked.
      process.on('SIGHUP', () => console.log(readFileSync(new URL('../page', import.meta.url), 'utf8')))
      process.on('SIGTERM', () => { signals++; setTimeout(() => { console.log('signals ' + signals); process.exit(7) }, 300) })
    }
    console.log(process.argv.slice(2).join(' '))`,
  )
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(root, { recursive: true, force: true, maxRetries: 10 })
})

const write = (name: string, content: string) => writeFileSync(join(root, name), content)
const builds = () => readFileSync(join(root, 'builds'), 'utf8').length

function launch(...args: string[]) {
  const child = spawn(process.execPath, [join(root, 'scripts/start.mjs'), ...args], { stdio: 'pipe' })
  children.push(child)
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.err += chunk
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...said }))
  return { child, said, ended }
}

test('a fresh clone is built, with one line per step, and started with the given arguments', async () => {
  const result = await launch('--port', '0').ended
  expect(result).toMatchObject({ code: 0, out: 'start --port 0\n' })
  expect(result.err).toMatch(/^Building …\nBuilding: done in [\d.]+ s\n$/)
})

test('nothing is built again until a source changes', async () => {
  await launch().ended
  expect((await launch().ended).err).toBe('')
  expect(builds()).toBe(1)
  write('src/other.js', 'export const changed = true')
  await launch().ended
  expect(builds()).toBe(2)
})

test('a changed page builds only the documentation', async () => {
  mkdirSync(join(root, 'docs'))
  write('docs/page.md', '# A page')
  write(
    'build-docs.mjs',
    `import { mkdirSync, writeFileSync } from 'node:fs'
    import { DOCS_HASH, docsHash } from './scripts/fingerprint.mjs'
    mkdirSync('dist/docs', { recursive: true })
    writeFileSync(DOCS_HASH, docsHash())`,
  )
  expect((await launch().ended).err).toMatch(/Building: done[\s\S]*Building the documentation: done/)
  expect((await launch().ended).err).toBe('')
  write('docs/page.md', '# A better page')
  const { out, err } = await launch().ended
  expect(err).toMatch(/^Building the documentation …\nBuilding the documentation: done in [\d.]+ s\n$/)
  expect([out, builds()]).toEqual(['start\n', 1])
})

test('a build changes nothing that a running server reads, and what no server uses is removed', async () => {
  const copies = () => readdirSync(root).filter((name) => name.startsWith('.build-')).length
  const good = readFileSync(join(root, 'build.mjs'), 'utf8')
  const buildPage = (page: string) => write('build.mjs', `${good}\nwriteFileSync('dist/page', '${page}')`)
  buildPage('first')
  const server = launch('--wait')
  await expect.poll(() => server.said.out).toContain('--wait')
  buildPage('second')
  write('src/other.js', 'export const changed = true')
  await launch().ended
  expect([readFileSync(join(root, 'dist/page'), 'utf8'), copies()]).toEqual(['second', 2])
  server.child.kill('SIGHUP')
  await expect.poll(() => server.said.out).toContain('first')
  server.child.kill('SIGTERM')
  await server.ended
  await launch().ended
  expect(copies()).toBe(1)
})

test('--build-only builds and starts nothing', async () => {
  expect(await launch('--build-only').ended).toMatchObject({ code: 0, out: '' })
  expect(builds()).toBe(1)
})

test('two starts at once build once', async () => {
  const both = await Promise.all([launch('--a').ended, launch('--b').ended])
  expect(both.map((one) => one.out)).toEqual(['start --a\n', 'start --b\n'])
  expect(builds()).toBe(1)
})

test('a command is passed on unchanged', async () => {
  expect((await launch('backup', 'file').ended).out).toBe('backup file\n')
})

test('the output of a failed build is shown, and the next start builds again', async () => {
  const good = readFileSync(join(root, 'build.mjs'), 'utf8')
  write('build.mjs', `${good}\nconsole.error('no semicolon'); process.exit(2)`)
  const result = await launch().ended
  expect(result).toMatchObject({ code: 1, out: '' })
  expect(result.err).toMatch(
    /the compiler speaks[\s\S]*no semicolon[\s\S]*Building failed: npm run ended with 2\n$/,
  )
  write('build.mjs', good)
  expect(await launch().ended).toMatchObject({ code: 0, out: 'start\n' })
})

test('packages that do not match the lock file are installed first', async () => {
  mkdirSync(join(root, 'local'))
  write('local/package.json', JSON.stringify({ name: 'local', version: '2.0.0' }))
  const packages = {
    '': { name: 'project', dependencies: { local: 'file:local' } },
    local: { version: '2.0.0' },
    'node_modules/local': { resolved: 'local', link: true },
  }
  write('package-lock.json', JSON.stringify({ name: 'project', lockfileVersion: 3, packages }))
  write(
    'package.json',
    JSON.stringify({
      name: 'project',
      type: 'module',
      scripts: SCRIPTS,
      dependencies: { local: 'file:local' },
    }),
  )
  expect((await launch().ended).err).toMatch(
    /^Installing packages .*\nInstalling packages: done .*\nBuilding …\n/,
  )
  expect((await launch().ended).err).toBe('')
})

test('a signal that npm sends twice reaches the server once, and its exit code is passed on', async () => {
  const { child, said, ended } = launch('--wait')
  while (!said.out.includes('--wait')) await sleep(20)
  child.kill('SIGTERM')
  await sleep(50)
  child.kill('SIGTERM')
  expect(await ended).toMatchObject({ code: 7, out: 'start --wait\nsignals 1\n' })
})

test.each([
  'SIGTERM',
  'SIGKILL',
] as const)('%s sent only to npm stops the server too, after its requests', async (signal) => {
  const npm = spawn('npm', ['start', '--', '--wait'], { cwd: root, stdio: 'pipe' })
  children.push(npm)
  let out = ''
  npm.stdout.on('data', (chunk) => {
    out += chunk
  })
  while (!out.includes('start --wait')) {
    expect(npm.exitCode, out).toBe(null)
    await sleep(20)
  }
  npm.kill(signal)
  await once(npm, 'close') // not before the server, which holds the same stdout, is gone
  expect(out).toMatch(/start --wait\nsignals 1\n$/)
})
