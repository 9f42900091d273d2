import { defineConfig } from 'vitest/config'

export default defineConfig({
  // As Node resolves it: the copy under `module` in its package.json would be a second one beside that of its users.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    // Tests of a Citus cluster run if there is one (SVC_TEST_CLUSTER_URL), those of Patroni and of the image by
    // `npm run test:ha` and `npm run test:image`.
    include: [
      'test/**/*.test.ts',
      ...(process.env.SVC_TEST_IMAGE ? ['test/image/*.image.ts'] : []),
      ...(process.env.SVC_TEST_HA ? ['test/ha/*.ha.ts'] : []),
      ...(process.env.SVC_TEST_CLUSTER_URL ? ['test/cluster/*.cluster.ts'] : []),
    ],
    environment: 'node',
    globalSetup: ['test/kit/global.ts'],
    // Loading the service takes longer than most files, and its modules keep no state: a worker loads it once.
    isolate: false,
    // Each file has a database of its own, so files may run side by side.
    maxWorkers: 2,
    // Limits only report tests that hang: they are far above the duration of any test, so that a busy machine passes.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
