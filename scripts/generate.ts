/**
 * Writes the generated files: what schemas/ holds but examples, the tables of docs/ that stand between markers, and the
 * version of the Python packages. With `--check`
 * it writes nothing and fails if a file differs (npm run check).
 */
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { generate } from '@graphql-codegen/cli'
import { pino } from 'pino'
import codegen from '../codegen.ts'
import { CONFIG_KEYS, readConfig } from '../src/config.ts'
import { createCostBudget } from '../src/cost-budget.ts'
import { openGraph } from '../src/db/prisma.ts'
import { openSql } from '../src/db/sql.ts'
import { createDashboardCache } from '../src/domain/dashboard/index.ts'
import { eventJsonSchema } from '../src/domain/events/index.ts'
import { FIELD_KINDS, OWN_FIELDS, SENT_FIELDS } from '../src/domain/lists/index.ts'
import { createLive } from '../src/domain/live/index.ts'
import { asTheyAre } from '../src/domain/telemetry.ts'
import { buildSchema, schemaText } from '../src/graphql/schema.ts'
import { apiDocument } from '../src/http/docs/api-document.ts'
import { MAX_ZIP_FILES } from '../src/http/files/zip.ts'
import { buildServer } from '../src/http/server.ts'
import { createIngest } from '../src/ingest/index.ts'
import { PROBLEMS } from '../src/problem.ts'
import { clockOf } from '../src/services.ts'
import { createWriter } from '../src/stream/commit.ts'
import { createVisitorPool } from '../src/visitor-pool.ts'
import { eventTypes } from './event-types.ts'
import { between } from './markers.ts'
import { pythonVersion } from './wheels.mjs'

const ROOT = join(import.meta.dirname, '..')

/** The document of the real routes. Nothing listens, and the database is never asked: connections open when used. */
async function openapi(): Promise<unknown> {
  const { config } = readConfig({})
  const url = 'postgresql://unused@localhost/none'
  const sql = asTheyAre(openSql(url, { name: 'generate' }))
  const graph = openGraph(url, { max: 1 })
  const writer = createWriter(sql)
  const now = () => new Date(0)
  const startedAt = now()
  const log = pino({ level: 'silent' })
  const live = createLive({ sql, listenUrl: url, clock: () => clockOf({ config, now, startedAt }), log })
  const never = () => Promise.reject(new Error('nothing is streamed here'))
  const app = await buildServer({
    config,
    sql,
    visitorSql: sql,
    visitors: createVisitorPool(),
    budget: createCostBudget(config.costPerS),
    replica: undefined,
    prisma: graph.prisma,
    writer,
    ingest: createIngest({
      sql,
      writer,
      now,
      rateLimit: config.rateLimit,
      staleAfterMin: config.stallTimeoutMin,
      autocreate: true,
      maxProjects: config.quotas.projects,
      maxSeries: config.maxSeriesPerJob,
    }),
    files: { find: never, append: never, open: never },
    thumbnails: { of: async () => undefined },
    dashboardCache: createDashboardCache(),
    live,
    sse: {
      serveEvents: never,
      serveOperation: never,
      counts: { open: 0, cutOff: 0, executed: 0, shared: 0 },
      stop: () => {},
    },
    now,
    startedAt,
    log,
    outages: { unavailable: false, counts: { outages: 0, faults: 0 } },
    dataFolder: undefined,
    pendingMigrations: async () => [],
  })
  await app.ready()
  const document = apiDocument(app)
  await app.close()
  await sql.end()
  await graph.close()
  return document
}

/** Every setting, as docs/operations.md tells it. */
export function configTable(): string {
  const rows = Object.entries(CONFIG_KEYS).map(([name, { fallback, what }]) => {
    const shown = fallback === undefined ? 'none' : `\`${fallback}\``
    return `| \`${name}\` | ${shown} | ${what.replaceAll('|', '\\|')} |`
  })
  return ['| Name | Default | What it does |', '|---|---|---|', ...rows].join('\n')
}

/** Every refusal, as docs/api.md tells it. */
export function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, [status, title]]) => `| \`${code}\` | ${status} | ${title} |`,
  )
  return ['| Code | Status | Title |', '|---|---|---|', ...rows].join('\n')
}

/** The typed documents of the page, from the schema as the code builds it. */
async function typedDocuments(): Promise<string> {
  const files: { filename: string; content: string }[] = await generate(
    { ...codegen, schema: schemaText(buildSchema()), cwd: ROOT, silent: true },
    false,
  )
  // The preset's other files map the text of every document to its type: a page that imported them would load them all.
  const [file] = files.filter(({ filename }) => filename.endsWith('/graphql.ts'))
  if (file === undefined) throw new Error('no typed documents were generated')
  return file.content
}

/** The Python packages have the version of the service, which package.json names. */
const versionFile = (): string => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  return `"""Generated by npm run generate from the version in package.json."""\n\n__version__ = "${pythonVersion(version)}"\n`
}

/** The fields that queries over batches and jobs know, for the page's query fields. */
const fieldKinds = (): string =>
  [
    '/** Generated by npm run generate from the fields of batches and jobs. */',
    ...Object.entries({ FIELD_KINDS, OWN_FIELDS, SENT_FIELDS }).map(
      ([name, value]) => `export const ${name} = ${JSON.stringify(value, null, 2)} as const`,
    ),
    '',
  ].join('\n')

/** Limits of the service that the page must know. */
const limits = (): string =>
  `/** Generated by npm run generate from the limits of the service. */\nexport const MAX_ZIP_FILES = ${MAX_ZIP_FILES}\n`

/** The generated files by path: what each is to hold, given what it holds now. */
export async function documents(): Promise<Record<string, (standing: string) => string>> {
  const pageDocuments = await typedDocuments()
  const json = (value: unknown) => () => `${JSON.stringify(value, null, 2)}\n`
  return {
    'schemas/event_v1.json': json(eventJsonSchema()),
    'schemas/openapi.json': json(await openapi()),
    'schemas/schema.graphql': () => schemaText(buildSchema()),
    'docs/operations.md': (standing) => between(standing, 'settings', configTable()),
    'docs/api.md': (standing) => between(standing, 'problems', problemTable()),
    'web/src/__generated__/graphql.ts': () => pageDocuments,
    'web/src/__generated__/field-kinds.ts': fieldKinds,
    'web/src/__generated__/limits.ts': limits,
    'python/reporter/src/svc_reporter/_version.py': versionFile,
    'python/agent/src/svc_agent/_version.py': versionFile,
    'typescript/reporter/src/__generated__/events.ts': () =>
      eventTypes(eventJsonSchema() as Parameters<typeof eventTypes>[0]),
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, wanted] of Object.entries(await documents())) {
    const file = join(ROOT, path)
    const standing = await readFile(file, 'utf8').catch(() => '')
    const text = wanted(standing)
    if (text === standing) continue
    if (process.argv.includes('--check')) {
      console.error(`${path} is not what the code generates: run npm run generate`)
      process.exitCode = 1
    } else {
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
      console.log(`wrote ${path}`)
    }
  }
}
