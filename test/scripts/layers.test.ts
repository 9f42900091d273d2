import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-layers-'))
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const name of ['tsconfig.json', 'package.json']) symlinkSync(join(ROOT, name), join(folder, name))
  const config = JSON.stringify(join(ROOT, '.dependency-cruiser.cjs'))
  writeFileSync(
    join(folder, 'layers.cjs'),
    // The same rules, but a package is at its link, not at the target of the link.
    `const ours = require(${config}); module.exports = { ...ours, options: { ...ours.options, preserveSymlinks: true } }`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The rules that a source tree breaks, each as `rule: from → to`. */
function broken(files: Record<string, string>): string[] {
  rmSync(join(folder, 'src'), { recursive: true, force: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const cruise = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const args = [cruise, '--config', 'layers.cjs', '--output-type', 'json', 'src']
  const options = { cwd: folder, encoding: 'utf8' as const, maxBuffer: 64e6 }
  const said = (() => {
    try {
      return execFileSync(process.execPath, args, options)
    } catch (error) {
      return (error as { stdout: string }).stdout // its exit code is the number of violations
    }
  })()
  const { violations } = JSON.parse(said).summary as {
    violations: { rule: { name: string }; from: string; to: string }[]
  }
  return violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`).sort()
}

const value = 'export const value = 1\n'
const use = (path: string) => `import { value } from '${path}'\nexport const again = value\n`

test('a tree that follows its layers has no violation', () => {
  expect(
    broken({
      'src/config.ts': value,
      'src/problem.ts': value,
      'src/db/sql.ts': value,
      'src/stream/commit.ts': use('../db/sql.ts'),
      'src/domain/access.ts': use('../problem.ts'),
      'src/domain/jobs/reads.ts': use('../access.ts'),
      'src/domain/jobs/index.ts': use('./reads.ts'),
      'src/domain/batches/reads.ts': use('../jobs/index.ts'),
      'src/ingest/apply.ts': use('../domain/jobs/index.ts'),
      'src/services.ts': use('./config.ts'),
      'src/http/jobs.ts': use('../services.ts'),
      'src/app.ts': use('./http/jobs.ts'),
      'src/cli/main.ts': use('../app.ts'),
    }),
  ).toEqual([])
})

test('every kind of forbidden import is reported, and nothing else', () => {
  expect(
    broken({
      'src/app.ts': value,
      'src/config.ts': value,
      'src/db/upward.ts': use('../domain/access.ts'),
      'src/domain/access.ts': use('./jobs/index.ts'),
      'src/domain/jobs/index.ts': value,
      'src/domain/jobs/reads.ts': value,
      'src/domain/batches/side-door.ts': use('../jobs/reads.ts'),
      'src/domain/batches/configured.ts': use('../../config.ts'),
      'src/http/jobs.ts': use('../domain/jobs/reads.ts'),
      'src/http/neighbour.ts': use('../graphql/jobs.ts'),
      'src/graphql/jobs.ts': value,
      'src/http/driver.ts': "import postgres from 'postgres'\nexport const sql = postgres\n",
      'src/workers/whole.ts': use('../app.ts'),
      'src/workers/tool.ts': "import fc from 'fast-check'\nexport const tool = fc\n",
      'src/ingest/one.ts': use('./two.ts'),
      'src/ingest/two.ts': "import { again } from './one.ts'\nexport const value = again\n",
      'src/ingest/missing.ts': use('./nowhere.ts'),
      'src/attic/new-layer.ts': value,
      'src/cli/main.ts': use('../attic/new-layer.ts'),
    }).map((line) => line.replace(/node_modules\/([^/]+)\/.*/, '$1')),
  ).toEqual([
    'domain-module-index-outside: src/http/jobs.ts → src/domain/jobs/reads.ts',
    'domain-module-index: src/domain/batches/side-door.ts → src/domain/jobs/reads.ts',
    'every-file-has-a-layer: src/cli/main.ts → src/attic/new-layer.ts',
    'layer-cli: src/cli/main.ts → src/attic/new-layer.ts',
    'layer-db: src/db/upward.ts → src/domain/access.ts',
    'layer-domain: src/domain/batches/configured.ts → src/config.ts',
    'layer-http: src/http/neighbour.ts → src/graphql/jobs.ts',
    'layer-workers: src/workers/whole.ts → src/app.ts',
    'no-cycle: src/ingest/one.ts → src/ingest/two.ts',
    'no-development-package-at-run-time: src/workers/tool.ts → fast-check',
    'no-unresolved: src/ingest/missing.ts → ./nowhere.ts',
    'package-postgres: src/http/driver.ts → postgres',
    'shared-domain-below-modules: src/domain/access.ts → src/domain/jobs/index.ts',
  ])
})
