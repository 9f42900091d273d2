import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { buildWheels } from '../../scripts/wheels.mjs'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { bash, blocksOf, cleanEnvironment, installReporter } from './page-blocks.ts'

/**
 * The guides of docs/ are run as they are written: each page is one shell session in an empty folder, with the real
 * service and a fresh Python (the quick start with a service that has no account yet). A block of sh or python is run in its place, one with `file=NAME` is written to that
 * file, and one with `example=TEST` is checked by that test; here it only has to be valid.
 */
const ROOT = join(import.meta.dirname, '../..')
const PAGES = [
  'docs/quick-start.md',
  ...readdirSync(join(ROOT, 'docs/guides'))
    .sort()
    .map((name) => `docs/guides/${name}`),
]

let app: TestApp
let scratch: string
let bin: string
let token: string
let readToken: string
let session: string
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-guides-'))
  buildWheels()
  app = await startTestApp()
  // As the guides name them.
  const body = { email: 'you@example.com', password: 'at least 8 characters' }
  session = (await app.call('POST', '/api/auth/register', { body })).body.token
  token = await app.reporterToken(session)
  const read = { token: session, body: { name: 'notebook', scope: 'read' } }
  readToken = (await app.call('POST', '/api/tokens', read)).body.token
  bin = await installReporter(scratch, app.address)
}, 240_000)
afterAll(async () => {
  await app?.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const batchesOf = async (project: string) =>
  (await app.call('GET', `/api/batches?project=${project}&limit=500`, { token: session })).body.items as {
    name: string | null
    status: string
    n_done: number
    group: string | null
  }[]

test('every block is run, written to a file or checked by an existing test', () => {
  const kinds = { run: 0, file: 0, example: 0 }
  for (const page of PAGES)
    for (const { language, file, example } of blocksOf(page)) {
      expect([page, language]).toEqual([page, expect.stringMatching(/^(sh|python|yaml)$/)])
      if (example !== undefined)
        expect([page, example, existsSync(join(ROOT, example))]).toEqual([page, example, true])
      kinds[example !== undefined ? 'example' : file !== undefined ? 'file' : 'run']++
    }
  expect(kinds.run).toBeGreaterThan(20)
  expect(kinds.file).toBeGreaterThan(5)
  expect(kinds.example).toBeLessThan(kinds.run)
})

test('examples are valid: shell parses, Python compiles, YAML is one document or several', async () => {
  for (const page of PAGES)
    for (const { language, code, example } of blocksOf(page)) {
      if (language === 'yaml') {
        const documents = parseAllDocuments(code)
        expect(documents.flatMap((one) => one.errors)).toEqual([])
        continue
      }
      if (example === undefined) continue
      // The magic of a notebook is no shell.
      const script = code.replace(/^%/gm, '')
      const file = join(scratch, 'example')
      writeFileSync(file, script)
      const check =
        language === 'sh'
          ? `bash -n ${file}`
          : `python -c 'compile(open("${file}").read(), "${page}", "exec")'`
      const { code: status, said } = await bash(check, scratch, cleanEnvironment(scratch, bin))
      expect([page, status, said]).toEqual([page, 0, ''])
    }
})

test.each(PAGES)('%s works as written, block by block', async (page) => {
  const folder = join(scratch, page.replace(/\W/g, '-'))
  const home = join(folder, 'home')
  mkdirSync(home, { recursive: true })
  const script = blocksOf(page)
    .filter(({ language, example }) => language !== 'yaml' && example === undefined)
    .map(({ language, file, code }, i) => {
      if (file !== undefined) return `cat >${file} <<'END-OF-${i}'\n${code}END-OF-${i}`
      // A notebook keeps the names of its cells.
      if (language === 'python')
        return `cat >>cells.py <<'END-OF-${i}'\n${code}END-OF-${i}\n${page.includes('notebooks') ? '' : `mv cells.py cell${i}.py; python cell${i}.py`}`
      return code
    })
  if (page.includes('notebooks')) script.push('python cells.py')
  const fresh = page === 'docs/quick-start.md' ? await startTestApp() : undefined
  const env = {
    ...cleanEnvironment(home, bin),
    SVC_URL: (fresh ?? app).address,
    ...(fresh === undefined
      ? { SVC_TOKEN: token, SVC_READ_TOKEN: readToken }
      : { SVC_DATABASE_URL: fresh.config.databaseUrl as string }),
  }
  try {
    const { code, said } = await bash(script.join('\n'), folder, env)
    expect([code, code === 0 ? '' : said]).toEqual([0, ''])
    if (fresh !== undefined) expect(said).toContain(`${fresh.address}/b/`)
    await OUTCOMES[page]?.(said)
  } finally {
    await fresh?.stop()
  }
}, 120_000)

/** What a page leaves behind, where its commands alone would not fail without it. */
const OUTCOMES: Record<string, (said: string) => Promise<void>> = {
  'docs/quick-start.md': async (said) => {
    expect(said).toMatch(/^hello completed 0\.0/m)
  },
  'docs/guides/air-gapped.md': async (said) => {
    expect(said).toMatch(/^\S+\.jsonl$/m)
    const [offline] = (await batchesOf('digits')).filter(({ name }) => name === 'offline')
    expect(offline?.status).toBe('completed')
  },
  'docs/guides/alerts.md': async () => {
    const rules = await app.call('GET', '/api/projects/digits/rules', { token: session })
    expect(rules.body.items).toHaveLength(5)
    expect((await batchesOf('digits')).map(({ name }) => name)).toContain('tells')
  },
  'docs/guides/sweeps.md': async () => {
    const all = await batchesOf('digits')
    const done = (name: string) => all.find((batch) => batch.name === name)?.n_done
    expect([done('lr and depth'), done('in processes'), done('may be rerun')]).toEqual([6, 3, 2])
    expect([done('handed out'), done('by command')]).toEqual([4, 4])
  },
  'docs/guides/slurm.md': async () => {
    const all = await batchesOf('digits')
    expect(all.filter(({ group }) => group === 'array-4712')).toHaveLength(3)
    expect(all.find(({ name }) => name === 'in an array')?.n_done).toBe(6)
    // Alone, and as the first of four ranks.
    const started = all.filter(({ name }) => name === 'on the cluster')
    expect(started.map(({ status }) => status)).toEqual(['completed', 'completed'])
  },
  'docs/guides/kubernetes.md': async () => {
    const found = (await batchesOf('digits')).filter(({ name }) => name === 'in a pod')
    expect(found.map(({ status }) => status)).toEqual(['completed'])
  },
  'docs/guides/from-tensorboard.md': async () => {
    const found = (await batchesOf('digits')).filter(({ name }) => name === 'through a writer')
    expect(found.map(({ status }) => status)).toEqual(['completed'])
  },
}
