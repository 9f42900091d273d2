import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const architecture = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
const howTo = architecture.slice(
  architecture.indexOf('## How to add'),
  architecture.indexOf('## Conventions'),
)

test('every file named in "How to add" exists', () => {
  const named = [...howTo.matchAll(/`((?:src|web|prisma|python|docs|test|schemas)\/[^`…]*)`/g)].map(
    ([, path]) => path as string,
  )
  expect(named.length).toBeGreaterThan(25)
  const missing = named.filter((path) => !path.includes('NNN') && !existsSync(join(ROOT, path)))
  expect(missing).toEqual([])
})

test('there is a recipe for each kind of addition', () => {
  const titles = [...howTo.matchAll(/^### (.+)$/gm)].map(([, title]) => title)
  expect(titles).toEqual([
    'A field of a job or of a batch',
    'An event type',
    'A filter of a list',
    'A setting',
    'A route',
    'A chart control',
  ])
})
