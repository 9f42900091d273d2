import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { documents } from '../scripts/generate.ts'
import { allowsEarlierReleases } from '../src/db/migration-script.ts'
import { statementsOf } from './conventions/statements.ts'

/** The conventions of the code (docs/architecture.md), checked by reading the sources. */
const ROOT = join(import.meta.dirname, '..')

/** Files of more than LONG lines (tests: LONG_TEST), each with why it stays in one piece. */
const LONG = 300
const LONG_TEST = 500
const LONG_WITH_REASON: Record<string, string> = {
  'bench/page.ts': 'one visit of the page, measured from its first row to its last frame',
  'src/app.ts': 'everything is opened here, in order, and closed in reverse',
  'src/config.ts': 'one table of settings, from which their values, defaults and documentation come',
  'src/domain/access.ts':
    'the whole table of rights with the look-ups that feed it; split, no one could check it',
  'src/domain/eta/estimate.ts': 'one argument in pure functions, in the order in which it is made',
  'scripts/record-digits.py':
    'a script of its own, run once: the training and its recorder, without a package around',
  'python/agent/src/svc_agent/_daemon.py': 'the loop of the agent: watching processes, polling, reporting',
  'python/reporter/scripts/generate_validator.py': 'one generator, read beside its output',
  'python/reporter/src/svc_reporter/_console.py':
    'one capture of two streams: replacing, collecting, splitting into lines, restoring',
  'python/reporter/src/svc_reporter/_job.py': 'the public class of a job with its documentation',
  'python/reporter/src/svc_reporter/_plain.py': 'one conversion of any value to JSON, with its bounds',
  'python/reporter/src/svc_reporter/_reporter.py': 'the public class with its documentation',
  'python/reporter/src/svc_reporter/_run.py': 'the other public class with its documentation',
  'python/reporter/src/svc_reporter/_worker.py': 'one state machine over the events in flight',
  'python/reporter/src/svc_reporter/query/_api.py': 'the public class of reading with its documentation',
  'python/reporter/tests_frameworks/test_deep_learning.py':
    'one scripted training a library, side by side, so that they can be compared',
  'web/src/app/router.tsx': 'one table: a route for every page',
  'test/http/access-matrix.ts': 'one table: a row for every route',
  'test/http/batches.test.ts': 'the lists and single reads of the contract, one fact each',
  'test/ingest/contract.test.ts': 'the sentences of contract §1 in their order, one test each',
}

const SOURCE = /\.(ts|tsx|mts|mjs|cjs|js|py)$/
const SKIPPED = /(^|\/)(node_modules|dist|generated|__generated__|__pycache__|\.[^/]+)(\/|$)/
/** Written by a generator, which a check runs again. */
const GENERATED = ['python/reporter/src/svc_reporter/_validate.py']

function filesUnder(...folders: string[]): string[] {
  return folders
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1)),
    )
    .filter((path) => !SKIPPED.test(path))
    .sort()
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const sources = filesUnder('src', 'web', 'test', 'bench', 'scripts', 'python').filter(
  (path) => SOURCE.test(path) && !GENERATED.includes(path),
)
const inSrc = sources.filter((path) => path.startsWith('src/'))
const isTest = (path: string): boolean => /(^|\/)tests?\//.test(path)
/** Every line of these files that `pattern` finds, as `path:line: text`. */
const linesWith = (paths: readonly string[], pattern: RegExp): string[] =>
  paths.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
  )

test('generated files are what the code generates: schemas, the table of settings, the table of refusals', async () => {
  for (const [path, wanted] of Object.entries(await documents())) {
    const standing = read(path)
    expect(standing === wanted(standing), `${path}: run npm run generate`).toBe(true)
  }
})

test('the environment is read in src/cli/main.ts and nowhere else below it', () => {
  const readers = linesWith(inSrc, /\bprocess\s*\.\s*env\b|\bfrom 'node:process'|\bimport\.meta\.env\b/)
  expect(readers.filter((line) => !line.startsWith('src/cli/main.ts:'))).toEqual([])
})

test('arrays for postgres.js are made only by tagged templates and by sqlFragment', () => {
  const makers = linesWith(inSrc, /\{ raw: |as (unknown as )?TemplateStringsArray/)
  expect(makers.filter((line) => !/^src\/db\/(sql-fragment\.ts|generated\/)/.test(line))).toEqual([])
})

test('every SQL statement begins with its name, and no two have the same', () => {
  const statements = inSrc.flatMap((path) => statementsOf(join(ROOT, path)))
  const places = (some: typeof statements) => some.map((s) => `${s.file.slice(ROOT.length + 1)}:${s.line}`)
  expect(statements.length).toBeGreaterThan(50)
  expect(places(statements.filter((s) => s.name === undefined))).toEqual([])
  const twice = statements.filter((s) => statements.some((other) => other !== s && other.name === s.name))
  expect(twice.map((s) => `${s.name} ${places([s])}`)).toEqual([])
})

test('a statement without a name is noticed, a fragment is not', () => {
  const text = [
    'const rows = await sql`select 1`',
    'const named = await tx`/* noun.verb */ select 1`',
    "await db.unsafe('delete from batches')",
    'const part = (db: Db): Fragment => db`select 2`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    'await db`/* noun.other */ select * from (${db`select 3`}) t`',
    'const run = async (tx: Tx) => tx`update users set name = 1`',
  ].join('\n')
  const seen = statementsOf('example.ts', text).map(({ line, name }) => [line, name])
  expect(seen).toEqual([
    [1, undefined],
    [2, 'noun.verb'],
    [3, undefined],
    [5, 'noun.other'],
    [6, undefined],
  ])
})

test('a file is named for what it does', () => {
  const said = /(^|[-_.])(utils?|helpers?|common|misc|manager|service|lib)([-_.]|$)/i
  expect(sources.filter((path) => said.test(basename(path).replace(SOURCE, '')))).toEqual([])
  const shape = (path: string): boolean =>
    path.endsWith('.tsx') || /^[a-z0-9]+([-.][a-z0-9]+)*\.(ts|mts|mjs|cjs|js)$/.test(basename(path))
  expect(sources.filter((path) => !path.endsWith('.py') && !shape(path))).toEqual([])
})

test('a long file has its reason in the table, and the table names no file that is short or gone', () => {
  const linesOf = (path: string): number => read(path).split('\n').length - 1
  const long = sources.filter((path) => linesOf(path) > (isTest(path) ? LONG_TEST : LONG))
  expect(long).toEqual(Object.keys(LONG_WITH_REASON).sort())
})

test('migrations have a number each, can be run twice and drop nothing that holds data', () => {
  const names = readdirSync(join(ROOT, 'prisma/migrations')).filter((name) => !name.includes('.'))
  const numbers = names.map((name) => /^(\d{3})_[a-z_]+$/.exec(name)?.[1])
  expect(numbers).not.toContain(undefined)
  expect(new Set(numbers).size).toBe(names.length)
  for (const name of names) {
    const script = read(`prisma/migrations/${name}/migration.sql`)
      .replace(/--.*$/gm, '')
      // A constraint that gives way to a narrower one, which an earlier migration made (032).
      .replace('alter table events drop constraint if exists events_event_id_key;', '')
      // What 034 and 039 made for the time until the keys had changed, and keys that give way to those of 036 and 037.
      .replace(/drop trigger if exists (epochs|metric_chunks)_take_batch on \1;/, '')
      .replace(/drop constraint if exists (epochs|metric_chunks)_batch_known;/, '')
      .replace(
        /drop constraint (epochs|metric_chunks|events)_pkey;(?=\s*alter table \1 add constraint \1_pkey primary key)/,
        '',
      )
      // Indexes of 057 and 058 where their table got a key of its own instead (059).
      .replace(/drop index (epochs|metric_chunks)_step_key;/g, '')
      // A constraint that is made anew at once, so that it lets more values through.
      .replace(
        /alter table (\w+) drop constraint if exists (\w+);\s*(?=alter table \1 add constraint \2\b)/gi,
        '',
      )
    expect(script.match(/\b(drop|truncate|rename)\b.*/gi), name).toBe(null)
    const once =
      /\bcreate\s+(unlogged\s+)?(table|(unique\s+)?index|sequence|schema|extension)\s+(?!(?:concurrently\s+)?if not exists)\S+.*|\badd\s+column\s+(?!if not exists)\S+.*|\bcreate\s+(function|view|trigger)\b.*/gi
    expect(script.match(once), name).toBe(null)
    // Since this one its tables may be distributed by Citus, which refuses that (decision 0025).
    if (name > '050_cold_batches') expect(script.match(/\bset\s+storage\b.*/gi), name).toBe(null)
    expect(script.match(/\binsert\s+into\b(?![^;]*\bon conflict\b)[^;]*/gi), name).toBe(null)
  }
})

test('a migration that lets servers of earlier releases run on only adds what they need not name', () => {
  const adds =
    /^(create (table|(unique )?index (concurrently )?) ?if not exists|alter table \w+ add column if not exists (?!.*\bnot null\b(?!.*\bdefault\b)))/i
  const needed = (script: string): string[] =>
    script
      .replace(/--.*$/gm, '')
      .split(';')
      .map((statement) => statement.trim().replace(/\s+/g, ' '))
      .filter((statement) => statement !== '' && !adds.test(statement))
  expect(needed('alter table a add column if not exists b int not null;')).toHaveLength(1)
  expect(needed('alter table a drop column b; create trigger c')).toHaveLength(2)
  expect(
    needed('create index concurrently if not exists d on a (b); create table if not exists e (f int)'),
  ).toEqual([])
  const names = readdirSync(join(ROOT, 'prisma/migrations')).filter((name) => !name.includes('.'))
  const scripts = names.map((name) => [name, read(`prisma/migrations/${name}/migration.sql`)] as const)
  expect(
    scripts
      .filter(([, script]) => allowsEarlierReleases(script))
      .flatMap(([name, script]) => needed(script).map((one) => [name, one])),
  ).toEqual([])
})

test('every example event has a row in the index of its folder, and every row an example', () => {
  for (const folder of ['invalid', 'invalid-semantic']) {
    const index = JSON.parse(read(`schemas/examples/${folder}/index.json`)) as Record<string, unknown>
    const files = readdirSync(join(ROOT, 'schemas/examples', folder)).filter((name) => name !== 'index.json')
    expect(files.sort(), folder).toEqual(Object.keys(index).sort())
  }
})

test('no test is left out, singled out or expected to fail', () => {
  const tests = sources.filter(isTest)
  // Only root can run PostgreSQL as another user, so that one fact holds for root alone. PgBouncer and openssl are not
  // part of what CI needs.
  const allowed =
    /^test\/db\/(embedded\.slow\.test\.ts:\d+: test\.runIf\(process\.getuid\?\.\(\) === 0|pooler\.test\.ts:\d+: test\.runIf\(hasPgbouncer\)|tls\.slow\.test\.ts:\d+: describe\.runIf\(hasOpenssl\))/
  const left =
    /\b(test|it|describe|suite)(\.\w+)*\.(skip|only|todo|fails|skipIf|runIf)\b|(?<!\.)\b(xit|xdescribe|fit|fdescribe)\(|pytest\.(skip|xfail|importorskip|mark\.(skip|skipif|xfail))\b|unittest\.skip/
  const self = /^test\/conventions\.test\.ts:/
  expect(linesWith(tests, left).filter((line) => !allowed.test(line) && !self.test(line))).toEqual([])
})

test('nothing is put off, and a rule is suspended only by its name, in TypeScript with the reason beside it', () => {
  const self = /^test\/conventions\.test\.ts:/
  const put = linesWith(sources, /\b(TODO|FIXME|XXX|HACK)\b/).filter((line) => !self.test(line))
  expect(put).toEqual([])
  const bare =
    /biome-ignore(?!\S* [\w/]+: \S)|@ts-(ignore|nocheck|expect-error)(?! \S)|# (noqa(?!: [A-Z])|type: ignore(?!\[))/
  expect(linesWith(sources, bare).filter((line) => !self.test(line))).toEqual([])
})

test('links between the pages of docs lead to files that there are', () => {
  const pages = ['README.md', ...filesUnder('docs', 'bench').filter((path) => path.endsWith('.md'))]
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .map(([, target]) => target as string)
      .filter((target) => !existsSync(join(ROOT, dirname(page), target)))
      .map((target) => `${page} → ${target}`),
  )
  expect(broken).toEqual([])
})

test('code in a page of the documentation begins and ends on lines of its own', () => {
  const pages = ['README.md', ...filesUnder('docs', 'bench', 'python').filter((path) => path.endsWith('.md'))]
  expect(linesWith(pages, /\S.*```/)).toEqual([])
  expect(pages.filter((path) => linesWith([path], /```/).length % 2 === 1)).toEqual([])
})

/** Words that docs/glossary.md and plain sentences do without, each with what to write instead. */
const ODD_WORDS: Record<string, string> = {
  'whoever|whatever|whatsoever|whence|hence|thereof|lest':
    'name the person or thing: "a client that", "any", "so that"',
  anew: '"again", or a verb: recompute, reload, restart',
  'is\\s+told|is\\s+asked\\s+of':
    'who sends what to whom: "is sent", "gets", "is notified", "is called with"',
  'is\\s+to\\s+be\\s+had|be\\s+had': '"is available"',
  'it\\s+stands|as\\s+it\\s+is': '"is", "unchanged", "exactly"',
  'in\\s+vain|by\\s+heart|of\\s+its\\s+own\\s+accord|is\\s+no\\s+more':
    'the plain fact: "without a result", "by itself", "has ended"',
  'log\\s+of\\s+changes': '"change log"',
  doors: '"transports" (http, graphql), "listener", "servers"',
  'struck\\s+out|lets\\s+go\\s+of|in\\s+passing|beforehand|forth':
    'the plain verb: "removed", "releases", "in advance", "forward"',
  '(servers?|processes)\\s+that\\s+(are|is)\\s+no\\s+more|of\\s+no\\s+more': '"dead", "ended"',
  'nobody|somebody|anybody': 'the role: "the caller", "a user", "no client", "anyone"',
  '_?(MOST|LEAST)_\\w+': 'MAX_… or MIN_…',
}

test('plain words: none of the list is left in code, docs or messages', () => {
  const pages = [
    ...filesUnder('docs', 'bench', 'python').filter((path) => path.endsWith('.md')),
    ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md'],
  ]
  const found = [...sources, ...pages, 'prisma/schema.prisma'].flatMap((path) => {
    if (path === 'test/conventions.test.ts') return []
    const text = read(path)
    return Object.entries(ODD_WORDS).flatMap(([words, instead]) =>
      [...text.matchAll(new RegExp(`\\b(${words})\\b`, 'gi'))].map(
        (match) =>
          `${path}:${text.slice(0, match.index).split('\n').length}: "${match[0]}"; write ${instead}`,
      ),
    )
  })
  expect(found).toEqual([])
})

/** The text of each numbered section of docs/contract.md. */
const sectionsOfContract = (): Map<string, string> =>
  new Map(
    read('docs/contract.md')
      .split(/^## /m)
      .flatMap((text): [string, string][] => {
        const number = /^(\d+)\. /.exec(text)?.[1]
        return number === undefined ? [] : [[number, text]]
      }),
  )

test('a citation of the contract or the specification leads to a section in docs, and its subject is there', () => {
  const contract = sectionsOfContract()
  const specification = read('docs/specification-notes.md')
  const broken = [...sources, 'prisma/schema.prisma'].flatMap((path) => {
    // A citation may go over the end of a line of a comment.
    const text = read(path).replace(/\n\s*(\*|\/\/|#)?\s*/g, ' ')
    return [...text.matchAll(/\b(contract|specification),? §(\d+)((?:\.\d+)*)(?: "([^"']+)")?/g)]
      .filter(([, book, section = '', part = '', subject]) => {
        if (book === 'specification')
          return (
            !specification.includes(`\n| ${section}${part} |`) && !specification.includes(`\n| ${section} |`)
          )
        const words = contract.get(section)
        return (
          words === undefined ||
          (subject !== undefined && !words.toLowerCase().includes(subject.toLowerCase()))
        )
      })
      .map(([citation]) => `${path}: ${citation}`)
  })
  expect(contract.size).toBe(11)
  expect(broken).toEqual([])
})

test('comments cite only documents that are in the repository', () => {
  const cited = [...sources, ...filesUnder('docs', 'bench').filter((path) => path.endsWith('.md'))]
    .filter((path) => path !== 'test/conventions.test.ts')
    .flatMap((path) => linesWith([path], /(?<![\w/-])((goals|design|examples|web|contract)\.md\b|design §)/))
    .filter((line) => !/docs\/contract\.md|^docs\/[^:]+\.md:.*contract\.md/.test(line))
  expect(cited).toEqual([])
})
