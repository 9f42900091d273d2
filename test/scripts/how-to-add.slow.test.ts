import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { freshDatabase } from '../kit/database.ts'
import { createClient } from '../kit/http.ts'

// "How to add": a field of a job (docs/architecture.md), followed on a copy of the project. Half a minute on a quiet machine.

const ROOT = join(import.meta.dirname, '../..')
/** All that the code of the service and its generated files need. */
const COPIED = [
  ...['src', 'prisma', 'schemas', 'scripts', 'docs', 'web/src', 'python/reporter/src', 'python/agent/src'],
  ...['package.json', 'prisma.config.ts', 'codegen.ts', 'tsconfig.json'],
]
let copy: string
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'svc-how-to-add-'))
  for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
})
afterAll(() => rmSync(copy, { recursive: true, force: true, maxRetries: 10 }))

const read = (path: string): string => readFileSync(join(copy, path), 'utf8')
function edit(path: string, after: string, added: string): void {
  const text = read(path)
  expect(text).toContain(after)
  writeFileSync(join(copy, path), text.replace(after, `${after}${added}`))
}
function run(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8' })
  expect(status, `${stdout}\n${stderr}`).toBe(0)
}

test('a column, a migration and a row of the field table add a field of a job that is stored, documented, found and in answers', async () => {
  edit(
    'prisma/schema.prisma',
    '  gpuCount      Int?     @map("gpu_count")\n',
    '  cpuCount Int? @map("cpu_count")\n',
  )
  mkdirSync(join(copy, 'prisma/migrations/999_cpu_count'))
  writeFileSync(
    join(copy, 'prisma/migrations/999_cpu_count/migration.sql'),
    'alter table jobs add column if not exists cpu_count integer;\n',
  )
  edit(
    'src/domain/jobs/job-fields.ts',
    'export const jobFields = {\n',
    `  cpu_count: {
    type: nullable(int),
    means: 'How many processor cores its process may use',
    column: 'cpu_count',
    sent: { by: 'job_start', accepts: isCount },
    public: 'shown',
    filter: { means: 'Processor cores' },
  },
`,
  )
  run('scripts/generate-client.mjs')
  run('--import', 'tsx', 'scripts/generate.ts')
  writeFileSync(join(copy, 'tsconfig.src.json'), '{ "extends": "./tsconfig.json", "include": ["src"] }')
  run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.src.json')

  const { components, paths } = JSON.parse(read('schemas/openapi.json'))
  expect(components.schemas.Job.properties.cpu_count).toMatchObject({
    description: 'How many processor cores its process may use',
  })
  expect(paths['/api/jobs'].get.parameters).toContainEqual(
    expect.objectContaining({ name: 'cpu_count', description: 'Processor cores; repeat it for OR' }),
  )
  expect(read('schemas/schema.graphql')).toMatch(/type Job .*?\n {2}cpuCount: Int\n/s)
  expect(read('schemas/schema.graphql')).toMatch(/input JobFilter .*?\n {2}cpuCount: \[Float!\]\n/s)
  // The names that the page completes.
  expect(read('web/src/__generated__/field-kinds.ts')).toMatch(/OWN_FIELDS = .*"job": \[\s+"cpu_count"/s)

  const database = await freshDatabase()
  const server = await startServer({ SVC_DATABASE_URL: database.url, SVC_DATA_DIR: join(copy, 'data') }, [
    ...['--import', 'tsx', join(copy, 'src/cli/main.ts')],
  ])
  const { call, close } = createClient(server.address)
  try {
    const { token } = (
      await call('POST', '/api/auth/register', { body: { email: 'ada@example.org', password: PASSWORD } })
    ).body
    const made = await call('POST', '/api/tokens', { token, body: { name: 'reporter', scope: 'reporter' } })
    const source = { project: 'vision', user: 'ada' }
    for (const event of [
      makeEvent('batch_start', { batch_id: 'b1', source }),
      makeEvent('job_start', { batch_id: 'b1', job_id: 'j1', source, data: { cpu_count: 8, lr: 0.1 } }),
      makeEvent('job_start', { batch_id: 'b1', job_id: 'j2', source, data: { cpu_count: 2 } }),
    ])
      expect((await call('POST', '/api/events', { token: made.body.token, body: event })).status).toBe(200)
    const jobs = await call('GET', '/api/batches/b1/jobs', { token })
    expect(jobs.body.items).toContainEqual(
      expect.objectContaining({ id: 'j1', cpu_count: 8, params: { lr: 0.1 } }),
    )
    const listed = async (search: string): Promise<string[]> =>
      (await call('GET', `/api/jobs?${search}`, { token })).body.items.map((job: { id: string }) => job.id)
    expect(await listed('cpu_count=8')).toEqual(['j1'])
    expect(await listed('where=cpu_count>4')).toEqual(['j1'])
    expect(await listed('sort=cpu_count&order=asc')).toEqual(['j2', 'j1'])
    const columns = await call('GET', '/api/batches?columns=cpu_count', { token })
    expect(columns.body.items[0].columns).toEqual({ cpu_count: { low: 2, high: 8, n: 2 } })
    const query =
      '{ batch(id: "b1") { jobs(where: { cpuCount: [8] }) { edges { node { jobId cpuCount } } } } }'
    const { body } = await call('POST', '/graphql', { token, body: { query } })
    expect(body.data.batch.jobs.edges).toEqual([{ node: { jobId: 'j1', cpuCount: 8 } }])
  } finally {
    close()
    server.kill('SIGTERM')
    await server.ended
    await database.drop()
  }
}, 600_000)
