#!/usr/bin/env node
// What `npm run test:ha` runs: fail-over and switch-over with the real Patroni and etcd (test/ha), if the packages are
// installed.
import { missingPrograms } from './ha-programs.mjs'
import { optionalSuite } from './optional-suite.mjs'

const missing = missingPrograms()

await optionalSuite({
  name: 'ha',
  missing:
    missing.length === 0
      ? undefined
      : `not installed: ${missing.join(', ')}; Debian: patroni etcd-server postgresql`,
  only: ['test/ha/'],
  prepare: async () => ({ env: { SVC_TEST_HA: '1' } }),
})
