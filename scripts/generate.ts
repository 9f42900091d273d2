/**
 * Writes the generated documents: what schemas/ holds but examples, and the tables of docs/ that stand between markers. With `--check`
 * it writes nothing and fails when one differs from what stands (npm run check).
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { generate } from '@graphql-codegen/cli'
import { pino } from 'pino'
import codegen from '../codegen.ts'
import { CONFIG_KEYS, readConfig } from '../src/config.ts'
import { openSql } from '../src/db/sql.ts'
import { eventJsonSchema } from '../src/domain/events/index.ts'
import { createLive } from '../src/domain/live/index.ts'
import { buildSchema, schemaText } from '../src/graphql/schema.ts'
import { apiDocument } from '../src/http/docs/api-document.ts'
import { buildServer } from '../src/http/server.ts'
import { createIngest } from '../src/ingest/index.ts'
import { PROBLEMS } from '../src/problem.ts'
import { clockOf } from '../src/services.ts'
import { createWriter } from '../src/stream/commit.ts'
import { between } from './markers.ts'

const ROOT = join(import.meta.dirname, '..')

/** The document of the real routes. Nothing listens, and the database is never asked: connections open when used. */
async function openapi(): Promise<unknown> {
  const { config } = readConfig({})
  const sql = openSql('postgresql://nobody@localhost/none', { name: 'generate' })
  const writer = createWriter(sql)
  const now = () => new Date(0)
  const startedAt = now()
  const log = pino({ level: 'silent' })
  const live = createLive({ sql, listenUrl: '', clock: () => clockOf({ config, now, startedAt }), log })
  const never = () => Promise.reject(new Error('nothing is streamed here'))
  const app = await buildServer({
    config,
    sql,
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
    live,
    sse: { serveEvents: never, serveOperation: never, counts: { open: 0, cutOff: 0 }, stop: () => {} },
    now,
    startedAt,
    log,
    outages: { away: false, counts: { outages: 0, faults: 0 } },
    pendingMigrations: async () => [],
  })
  await app.ready()
  const document = apiDocument(app)
  await app.close()
  await sql.end()
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
