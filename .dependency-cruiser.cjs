// Which layer may import which (docs/architecture.md), from the bottom up. A layer may import itself, the layers beside its
// name, and the listed single files.
const LAYERS = {
  query: { layers: [], leaves: [] },
  db: { layers: [], leaves: [] },
  storage: { layers: ['db'], leaves: [] },
  stream: { layers: ['db'], leaves: ['problem', 'bounded-queue'] },
  domain: {
    layers: ['stream', 'storage', 'db', 'query'],
    leaves: ['problem', 'bounded-queue', 'cost-budget', 'turns', 'secrets'],
  },
  ingest: { layers: ['domain', 'stream', 'db'], leaves: ['problem', 'memory', 'token-buckets'] },
  graphql: {
    layers: ['ingest', 'domain', 'stream', 'db', 'query'],
    leaves: [
      'problem',
      'bounded-queue',
      'cost-budget',
      'visitor-pool',
      'turns',
      'memory',
      'secrets',
      'config',
      'services',
    ],
  },
  http: {
    layers: ['ingest', 'domain', 'stream', 'db', 'query'],
    leaves: [
      'problem',
      'cost-budget',
      'visitor-pool',
      'turns',
      'memory',
      'secrets',
      'config',
      'oauth-config',
      'services',
    ],
  },
  workers: { layers: ['domain', 'stream', 'storage', 'db'], leaves: ['problem', 'config', 'services'] },
  cli: {
    layers: ['workers', 'domain', 'stream', 'storage', 'db'],
    leaves: ['app', 'config', 'memory', 'problem', 'secrets'],
  },
}
const LEAVES = {
  // Of db only the reading of addresses.
  config: { layers: ['db'], leaves: ['oauth-config'] },
  'oauth-config': { layers: [], leaves: [] },
  problem: { layers: [], leaves: [] },
  'bounded-queue': { layers: [], leaves: ['problem'] },
  'token-buckets': { layers: [], leaves: [] },
  'cost-budget': { layers: [], leaves: ['problem', 'token-buckets'] },
  'visitor-pool': { layers: [], leaves: ['bounded-queue', 'token-buckets'] },
  turns: { layers: [], leaves: [] },
  secrets: { layers: [], leaves: [] },
  memory: { layers: [], leaves: [] },
  checked: { layers: [], leaves: [] },
  thrown: { layers: [], leaves: [] },
  tracing: { layers: [], leaves: [] },
  log: { layers: ['db'], leaves: ['config', 'secrets', 'log-text'] },
  'log-text': { layers: [], leaves: [] },
  // What app.ts passes to the transports: types (of graphql too, whose streams http serves), and what follows from them.
  services: {
    layers: ['graphql', 'ingest', 'domain', 'stream', 'storage', 'db'],
    leaves: ['config', 'log', 'cost-budget', 'visitor-pool'],
  },
}
/** Packages that only some layers may import. */
const PACKAGES = {
  postgres: ['db'],
  // LISTEN has a connection of its own.
  pg: ['db', 'stream'],
  '@prisma': ['db', 'graphql'],
  fastify: ['http', 'app'],
  '@fastify': ['http', 'app'],
  'fastify-type-provider-zod': ['http'],
  graphql: ['graphql'],
  'graphql-yoga': ['graphql'],
  'graphql-sse': ['graphql', 'http'],
  '@pothos': ['graphql'],
  'graphile-worker': ['workers', 'db'],
  nodemailer: ['workers'],
  argon2: ['domain'],
  commander: ['cli'],
  jose: ['domain', 'http'],
  otpauth: ['domain'],
  '@zxcvbn-ts': ['domain'],
  '@simplewebauthn': ['domain', 'http'],
  bowser: ['http'],
  'openid-client': ['domain', 'http'],
}

const layer = (name) => `^src/${name}/`
const leaf = (name) => `^src/${name}\\.ts$`
const place = (name) => (LAYERS[name] ? layer(name) : leaf(name))
/** Every layer may use these: how values are checked, what a caught one says, and spans. */
const EVERYWHERE = ['checked', 'thrown', 'tracing']
const allowed = (name, { layers, leaves }) => [
  place(name),
  ...layers.map(layer),
  ...[...leaves, ...EVERYWHERE].map(leaf),
]

module.exports = {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: {},
      // The generated documents take a type from a package that has no code to resolve to.
      to: { couldNotResolve: true, pathNot: '^@graphql-typed-document-node/core$' },
    },
    ...Object.entries({ ...LAYERS, ...LEAVES }).map(([name, may]) => ({
      name: `layer-${name}`,
      severity: 'error',
      from: { path: place(name) },
      to: { path: '^src/', pathNot: allowed(name, may) },
    })),
    {
      name: 'every-file-has-a-layer',
      comment: 'Enter a new layer or single file in this table first',
      severity: 'error',
      from: {},
      to: {
        path: '^src/',
        pathNot: [...Object.keys(LAYERS).map(layer), ...Object.keys(LEAVES).map(leaf), leaf('app')],
      },
    },
    {
      name: 'domain-module-index',
      comment: 'Import another module of the domain through its index.ts',
      severity: 'error',
      from: { path: '^src/domain/([^/]+)/' },
      to: { path: '^src/domain/[^/]+/', pathNot: ['^src/domain/$1/', '^src/domain/[^/]+/index\\.ts$'] },
    },
    {
      name: 'domain-module-index-outside',
      comment: 'Import a module of the domain through its index.ts',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/domain/[^/]+/' },
      to: { path: '^src/domain/[^/]+/', pathNot: '^src/domain/[^/]+/index\\.ts$' },
    },
    {
      name: 'shared-domain-below-modules',
      comment:
        'Files that all modules share import none of them; present.ts is above the modules, and live/ above it',
      severity: 'error',
      from: { path: '^src/domain/[^/]+\\.ts$', pathNot: '^src/domain/present\\.ts$' },
      to: { path: '^src/domain/([^/]+/|present\\.ts$)' },
    },
    {
      name: 'no-module-imports-present',
      severity: 'error',
      from: { path: '^src/domain/[^/]+/', pathNot: '^src/domain/live/' },
      to: { path: '^src/domain/present\\.ts$' },
    },
    ...Object.entries(PACKAGES).map(([name, layers]) => ({
      name: `package-${name.replace(/[^\w-]/g, '')}`,
      severity: 'error',
      from: { path: '^src/', pathNot: layers.map((one) => (one === 'app' ? leaf('app') : layer(one))) },
      // A type-only import does not bind.
      to: { path: `^node_modules/${name}/`, dependencyTypesNot: ['type-only'] },
    })),
    {
      name: 'no-development-package-at-run-time',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only'],
        // Optional peers, loaded where an operator has installed them (src/cli/telemetry.ts, src/domain/files/thumbnails.ts).
        pathNot: 'node_modules/(@opentelemetry/sdk-node|sharp)/',
      },
    },
    {
      name: 'nothing-outside-src',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts|web)/' },
    },
    {
      name: 'shared-web-folders-import-no-page',
      severity: 'error',
      comment: 'What two pages need is in a folder beside web/src/pages',
      from: { path: '^web/src/', pathNot: '^web/src/(pages|app)/' },
      to: { path: '^web/src/(pages|app)/' },
    },
    {
      name: 'web-imports-no-server-code',
      severity: 'error',
      comment: 'Except the query language, which both have from src/query/',
      from: { path: '^web/' },
      to: { path: '^(src|prisma)/', pathNot: '^src/query/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^src/db/generated/' },
  },
}
