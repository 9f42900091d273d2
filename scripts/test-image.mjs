#!/usr/bin/env node
// What `npm run test:image` runs: the image of the Dockerfile, built and started (test/image), if the programs for it are
// installed and it runs as root. It takes five minutes, so `.ci/run` leaves it out.
import { isInstalled } from './installed.mjs'
import { optionalSuite } from './optional-suite.mjs'

const missing = ['buildah', 'crun', 'debootstrap'].filter((program) => !isInstalled(program))
if (process.getuid?.() !== 0) missing.push('the rights of root')

await optionalSuite({
  name: 'image',
  missing: missing.length === 0 ? undefined : `it needs ${missing.join(', ')}`,
  only: ['test/image/'],
  prepare: async () => ({ env: { SVC_TEST_IMAGE: '1' } }),
})
