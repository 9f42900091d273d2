import { defineConfig } from 'vitest/config'

export default defineConfig({
  // As Node resolves it: the copy that `module` of its package.json names would be a second one beside what its users load.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    // Those for a Citus cluster alone run where there is one (SVC_TEST_CLUSTER_URL).
    include: [
      'test/**/*.test.ts',
      ...(process.env.SVC_TEST_CLUSTER_URL ? ['test/cluster/*.cluster.ts'] : []),
    ],
    environment: 'node',
    globalSetup: ['test/kit/global.ts'],
    // Loading the service takes longer than most files do, and no module of it keeps a state: a worker loads it once.
    isolate: false,
    // Each file has a database of its own, so files may run side by side.
    maxWorkers: 2,
    // What hangs is to be told, what is slow on a busy machine is to pass: limits are far above what any test takes.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
