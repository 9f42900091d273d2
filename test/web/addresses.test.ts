import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAuditSearch } from '../../web/src/lib/audit-search.ts'
import { readChartSearch } from '../../web/src/lib/charts/search.ts'
import { readCompareSearch } from '../../web/src/lib/compare-search.ts'
import { readLogSearch } from '../../web/src/lib/log-search.ts'
import { readMediaSearch } from '../../web/src/lib/media-search.ts'
import { readSweepSearch } from '../../web/src/lib/sweep-search.ts'
import { readTableSearch } from '../../web/src/lib/table-search.ts'
import { readJobsSearch } from '../../web/src/pages/batch/jobs-search.ts'
import { readJobSearch } from '../../web/src/pages/job/search.ts'
import { readShareSearch } from '../../web/src/pages/share/search.ts'
import { readAccountSearch, readSignInSearch } from '../../web/src/pages/sign-in/search.ts'

// An address may hold anything under any name, as the router parses it as JSON.

const READERS = {
  readAuditSearch,
  readChartSearch,
  readCompareSearch,
  readLogSearch,
  readMediaSearch,
  readSweepSearch,
  readTableSearch,
  readJobsSearch,
  readJobSearch,
  readShareSearch,
  readAccountSearch,
  readSignInSearch,
} satisfies Record<string, (given: Record<string, unknown>) => object>

/** Every name that a reader takes from what it is given. */
function namesOf(read: (given: Record<string, unknown>) => object): string[] {
  const names = new Set<string>()
  const given = new Proxy({} as Record<string, unknown>, {
    get: (_, name) => {
      if (typeof name === 'string') names.add(name)
      return undefined
    },
    has: () => true,
  })
  read(given)
  return [...names]
}

// Objects without a text: `String` throws for them.
const odd = fc.constantFrom({ toString: {} }, [{ toString: {} }], [[{ valueOf: null, toString: null }], 1], {
  a: [{ toString: 1 }],
})

test.each(Object.entries(READERS))('%s reads every address, and what it read once more', (_, read) => {
  const names = namesOf(read)
  expect(names).not.toEqual([])
  const values = fc.oneof(odd, fc.jsonValue(), fc.array(odd), fc.dictionary(fc.string(), odd))
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), values), (given) => {
      const found = read({ ...given })
      expect(read(JSON.parse(JSON.stringify(found)))).toEqual(found)
    }),
  )
})
