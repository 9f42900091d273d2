import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
const workflow = read('.github/workflows/ci.yml')
/** The values of one variable of the matrix, in order. */
const versions = (name: string): string[] =>
  [...workflow.matchAll(new RegExp(`\\b${name}: '([^']*)'`, 'g'))].map(([, version]) => version as string)

test('CI runs .ci/run on every supported version of Node, Python and PostgreSQL, and on the embedded one', () => {
  expect(workflow).toContain('run: bash .ci/run')
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  expect(engines.node).toBe(`>=${versions('node')[0]}`)
  expect(new Set(versions('node').map((version) => version.split('.')[0]))).toEqual(
    new Set(['20', '22', '24']),
  )
  for (const distribution of ['reporter', 'agent'])
    expect(read(`python/${distribution}/pyproject.toml`)).toContain(
      `requires-python = ">=${versions('python')[0]}"`,
    )
  expect(versions('python')).toEqual(['3.10', '3.11', '3.12', '3.13', '3.14'])
  expect(versions('postgres')).toEqual(['15', '16', '17', '18', ''])
  expect(workflow).toContain('SVC_TEST_DATABASE_URL=')
})
