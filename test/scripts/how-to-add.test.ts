import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const architecture = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
const howTo = architecture.slice(
  architecture.indexOf('## How to add'),
  architecture.indexOf('## Conventions'),
)

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
