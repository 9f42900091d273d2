import { expect, test } from 'vitest'
import { failureLine } from '../../src/cli/failure.ts'
import { refuseUnpatched } from '../../src/db/sql.ts'

test('`postgres` without its patch is refused in one line that says how to apply it', () => {
  // The options of the package as npm installs it where its install scripts do not run.
  const options = { host: ['localhost'], max: 1, prepare: true } as never
  let thrown: unknown
  try {
    refuseUnpatched({ options })
  } catch (error) {
    thrown = error
  }
  expect(failureLine(thrown, 'postgresql://db/svc')).toMatch(
    /^the package postgres is installed without the patch.*run npm ci and then node scripts\/patch-packages\.mjs/,
  )
})
