/**
 * Checks the conventions of the code (docs/architecture.md) by reading the sources; a part of `npm run check`. Prints what
 * breaks a rule under the name of the rule, and fails if there is any.
 */
import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { longFiles } from './conventions/long-files.ts'
import { longFunctions } from './conventions/long-functions.ts'
import { migrationsThatStopEarlierReleases, unsafeMigrations } from './conventions/migrations.ts'
import { sharedQueryKeys } from './conventions/query-keys.ts'
import { filesUnder, inSrc, isTest, linesWith, ROOT, read, SOURCE, sources } from './conventions/sources.ts'
import { statementsOf } from './conventions/statements.ts'
import { brokenCitations, foreignCitations, oddWords } from './conventions/words.ts'

/** Each rule with what finds the places that break it. */
const RULES: readonly [rule: string, places: () => string[]][] = [
  ['the environment is read in src/cli/main.ts and nowhere else below it', readersOfEnvironment],
  ['only a file two folders deep, as in the built service, uses import.meta.dirname', misplacedFolders],
  ['arrays for postgres.js are made only by tagged templates and by sqlFragment', makersOfTemplates],
  ['telemetry is read through domain/telemetry.ts, which restores archived batches', readersPastTheArchive],
  ['every SQL statement begins with its name, and no two have the same', unnamedStatements],
  ['a file is named for what it does, in lower case with hyphens', oddFileNames],
  ['a long file has its reason in a table, and the table names no other file', longFiles],
  ['the functions of the page of more than 60 lines do not become more', longFunctions],
  ['a migration has a number, can be run twice and drops nothing that holds data', unsafeMigrations],
  [
    'a migration that lets servers of earlier releases run only adds what they need not name',
    migrationsThatStopEarlierReleases,
  ],
  ['every example event has a row in the index of its folder, and every row an example', examplesWithoutRow],
  ['no test is left out, singled out or expected to fail', testsLeftOut],
  [
    'nothing is put off, and a rule is suspended only by its name, in TypeScript with the reason beside it',
    postponed,
  ],
  ['links between the pages of docs lead to existing files', brokenLinks],
  ['code in a page of the documentation begins and ends on lines of its own', brokenFences],
  ['no word of the list of odd words is in code, docs or messages', oddWords],
  [
    'a citation of the contract or the specification leads to a section in docs, and its subject is there',
    brokenCitations,
  ],
  ['comments cite only documents of the repository', foreignCitations],
  ['every file named in "How to add" exists', filesMissingInHowTo],
  ['queries of the page that read different data have different keys', () => sharedQueryKeys()],
  ['CI runs every supported version of Node, Python and PostgreSQL', versionsWithoutCi],
]

function readersOfEnvironment(): string[] {
  const readers = linesWith(inSrc, /\bprocess\s*\.\s*env\b|\bfrom 'node:process'|\bimport\.meta\.env\b/)
  return readers.filter((line) => !line.startsWith('src/cli/main.ts:'))
}

/** scripts/bundle.mjs puts all files of the service into dist/cli. */
function misplacedFolders(): string[] {
  return linesWith(
    inSrc.filter((path) => path.split('/').length !== 3),
    /import\.meta\.(dirname|filename)/,
  )
}

/** These need only rows that are in the database: of running batches, or to write, pack, purge, archive and copy them. */
const AS_THEY_ARE =
  /^src\/(cli|db|ingest|workers)\/|^src\/domain\/(cold|retention)\/|^src\/domain\/(agents\/liveness|dashboard\/gpu-seconds|eta\/reads|events\/payload|metrics\/(for-ingest|packing)|notifications\/(crossings|message))\.ts$/

function readersPastTheArchive(): string[] {
  const tables =
    /\b(from|join) (events|payload_templates|epochs|metric_chunks|log_lines|resource_snapshots)\b/
  return inSrc.filter(
    (path) => !AS_THEY_ARE.test(path) && tables.test(read(path)) && !read(path).includes('telemetry.ts'),
  )
}

function makersOfTemplates(): string[] {
  const makers = linesWith(inSrc, /\{ raw: |as (unknown as )?TemplateStringsArray/)
  return makers.filter((line) => !/^src\/db\/(sql-fragment\.ts|generated\/)/.test(line))
}

function unnamedStatements(): string[] {
  const statements = inSrc.flatMap((path) => statementsOf(join(ROOT, path)))
  // Fewer cannot be: the search itself is broken.
  if (statements.length <= 50) return [`only ${statements.length} statements were found`]
  const seen = new Set<string>()
  return statements.flatMap(({ file, line, name }) => {
    const place = `${file.slice(ROOT.length + 1)}:${line}`
    if (name === undefined) return [`${place} has no name`]
    if (seen.has(name)) return [`${place} has the name of another: ${name}`]
    seen.add(name)
    return []
  })
}

function oddFileNames(): string[] {
  const said = /(^|[-_.])(utils?|helpers?|common|misc|manager|service|lib)([-_.]|$)/i
  const shaped = (path: string): boolean =>
    /\.(py|tsx)$/.test(path) || /^[a-z0-9]+([-.][a-z0-9]+)*\.(ts|mts|mjs|cjs|js)$/.test(basename(path))
  return sources.filter((path) => said.test(basename(path).replace(SOURCE, '')) || !shaped(path))
}

function examplesWithoutRow(): string[] {
  return ['invalid', 'invalid-semantic'].flatMap((name) => {
    const folder = `schemas/examples/${name}`
    const rows = Object.keys(JSON.parse(read(`${folder}/index.json`)) as Record<string, unknown>)
    const files = readdirSync(join(ROOT, folder)).filter((file) => file !== 'index.json')
    const alone = (some: string[], others: string[]) => some.filter((one) => !others.includes(one))
    return [...alone(rows, files), ...alone(files, rows)].map((file) => `${folder}/${file}`)
  })
}

function testsLeftOut(): string[] {
  // Only root can run PostgreSQL as another user, so that one fact holds for root alone. The programs that these tests ask
  // for are not part of what CI needs.
  const allowed =
    /^test\/(db\/(embedded\.slow\.test\.ts:\d+: test\.runIf\(process\.getuid\?\.\(\) === 0|pooler\.test\.ts:\d+: test\.runIf\((hasPgbouncer|hasPgpool)\)|tls\.slow\.test\.ts:\d+: describe\.runIf\(hasOpenssl\))|ops\/other-proxies\.slow\.test\.ts:\d+: test\.runIf\(hasProgram\))/
  const left =
    /\b(test|it|describe|suite)(\.\w+)*\.(skip|only|todo|fails|skipIf|runIf)\b|(?<!\.)\b(xit|xdescribe|fit|fdescribe)\(|pytest\.(skip|xfail|importorskip|mark\.(skip|skipif|xfail))\b|unittest\.skip/
  return linesWith(sources.filter(isTest), left).filter((line) => !allowed.test(line))
}

function postponed(): string[] {
  const bare =
    /biome-ignore(?!\S* [\w/]+: \S)|@ts-(ignore|nocheck|expect-error)(?! \S)|# (noqa(?!: [A-Z])|type: ignore(?!\[))/
  // This file names what it forbids.
  const others = sources.filter((path) => path !== 'scripts/conventions.ts')
  return [...linesWith(others, /\b(TODO|FIXME|XXX|HACK)\b/), ...linesWith(others, bare)]
}

function brokenLinks(): string[] {
  const pages = ['README.md', ...filesUnder('docs', 'bench').filter((path) => path.endsWith('.md'))]
  return pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .map(([, target]) => target as string)
      .filter((target) => !existsSync(join(ROOT, dirname(page), target)))
      .map((target) => `${page} → ${target}`),
  )
}

function brokenFences(): string[] {
  const pages = ['README.md', ...filesUnder('docs', 'bench', 'python').filter((path) => path.endsWith('.md'))]
  return [
    ...linesWith(pages, /\S.*```/),
    ...pages.filter((path) => linesWith([path], /```/).length % 2 === 1),
  ]
}

function filesMissingInHowTo(): string[] {
  const architecture = read('docs/architecture.md')
  const howTo = architecture.slice(
    architecture.indexOf('## How to add'),
    architecture.indexOf('## Conventions'),
  )
  const named = [...howTo.matchAll(/`((?:src|web|prisma|python|docs|test|schemas)\/[^`…]*)`/g)].map(
    ([, path]) => path as string,
  )
  if (named.length <= 25) return [`only ${named.length} files are named`]
  return named.filter((path) => !path.includes('NNN') && !existsSync(join(ROOT, path)))
}

function versionsWithoutCi(): string[] {
  const workflow = read('.github/workflows/ci.yml')
  const versions = (name: string): string[] =>
    [...workflow.matchAll(new RegExp(`\\b${name}: '([^']*)'`, 'g'))].map(([, version]) => version as string)
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  const majors = new Set(versions('node').map((version) => version.split('.')[0]))
  const facts: [boolean, string][] = [
    [workflow.includes('run: bash .ci/run'), '.github/workflows/ci.yml does not run .ci/run'],
    [workflow.includes('SVC_TEST_DATABASE_URL='), 'the database of a job is not handed to the tests'],
    [engines.node === `>=${versions('node')[0]}`, `"engines" of package.json: ${engines.node}`],
    [`${[...majors].sort()}` === '20,22,24', `Node: ${versions('node')}`],
    [`${versions('python')}` === '3.10,3.11,3.12,3.13,3.14', `Python: ${versions('python')}`],
    [`${versions('postgres')}` === '15,16,17,18,', `PostgreSQL: ${versions('postgres')}`],
    ...['reporter', 'agent'].map((name): [boolean, string] => [
      read(`python/${name}/pyproject.toml`).includes(`requires-python = ">=${versions('python')[0]}"`),
      `python/${name}/pyproject.toml: requires-python`,
    ]),
  ]
  return facts.flatMap(([holds, what]) => (holds ? [] : [what]))
}

for (const [rule, places] of RULES) {
  const found = places()
  if (found.length === 0) continue
  console.error(`${rule}:\n${found.map((place) => `  ${place}`).join('\n')}`)
  process.exitCode = 1
}
