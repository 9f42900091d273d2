// Which room may import which (docs/architecture.md). From the bottom up; a room sees itself, the rooms beside its
// name, and the leaves it is given.
const ROOMS = {
  db: { rooms: [], leaves: [] },
  stream: { rooms: ['db'], leaves: ['problem'] },
  domain: { rooms: ['stream', 'db'], leaves: ['problem'] },
  ingest: { rooms: ['domain', 'stream', 'db'], leaves: ['problem'] },
  graphql: {
    rooms: ['ingest', 'domain', 'stream', 'db'],
    leaves: ['problem', 'secrets', 'config', 'services'],
  },
  http: {
    rooms: ['ingest', 'domain', 'stream', 'db'],
    leaves: ['problem', 'secrets', 'config', 'oauth-config', 'services'],
  },
  workers: { rooms: ['domain', 'stream', 'db'], leaves: ['problem', 'config', 'services'] },
  cli: { rooms: ['workers', 'domain', 'stream', 'db'], leaves: ['app', 'config', 'problem'] },
}
const LEAVES = {
  config: { rooms: [], leaves: ['oauth-config'] },
  'oauth-config': { rooms: [], leaves: [] },
  problem: { rooms: [], leaves: [] },
  secrets: { rooms: [], leaves: [] },
  log: { rooms: ['db'], leaves: ['config', 'secrets'] },
  // What app.ts hands to the doors: types (of graphql too, whose streams http serves), and what follows from them.
  services: { rooms: ['graphql', 'ingest', 'domain', 'stream', 'db'], leaves: ['config', 'log'] },
}
/** Packages that only some rooms may know. */
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
  '@node-rs/argon2': ['domain'],
  commander: ['cli'],
  jose: ['domain', 'http'],
  otpauth: ['domain'],
  '@zxcvbn-ts': ['domain'],
  '@simplewebauthn': ['domain', 'http'],
  bowser: ['http'],
  'openid-client': ['domain', 'http'],
}

const room = (name) => `^src/${name}/`
const leaf = (name) => `^src/${name}\\.ts$`
const place = (name) => (ROOMS[name] ? room(name) : leaf(name))
const allowed = (name, { rooms, leaves }) => [place(name), ...rooms.map(room), ...leaves.map(leaf)]

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
    ...Object.entries({ ...ROOMS, ...LEAVES }).map(([name, may]) => ({
      name: `room-${name}`,
      severity: 'error',
      from: { path: place(name) },
      to: { path: '^src/', pathNot: allowed(name, may) },
    })),
    {
      name: 'every-file-has-a-room',
      comment: 'A new room or leaf is entered in this table first',
      severity: 'error',
      from: {},
      to: {
        path: '^src/',
        pathNot: [...Object.keys(ROOMS).map(room), ...Object.keys(LEAVES).map(leaf), leaf('app')],
      },
    },
    {
      name: 'noun-front-door',
      comment: 'Enter another noun by its index.ts',
      severity: 'error',
      from: { path: '^src/domain/([^/]+)/' },
      to: { path: '^src/domain/[^/]+/', pathNot: ['^src/domain/$1/', '^src/domain/[^/]+/index\\.ts$'] },
    },
    {
      name: 'noun-front-door-outside',
      comment: 'Enter a noun by its index.ts',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/domain/[^/]+/' },
      to: { path: '^src/domain/[^/]+/', pathNot: '^src/domain/[^/]+/index\\.ts$' },
    },
    {
      name: 'ground-of-the-domain',
      comment: 'What all nouns share knows none of them; present.ts stands above them, and live/ above it',
      severity: 'error',
      from: { path: '^src/domain/[^/]+\\.ts$', pathNot: '^src/domain/present\\.ts$' },
      to: { path: '^src/domain/([^/]+/|present\\.ts$)' },
    },
    {
      name: 'no-noun-presents',
      severity: 'error',
      from: { path: '^src/domain/[^/]+/', pathNot: '^src/domain/live/' },
      to: { path: '^src/domain/present\\.ts$' },
    },
    ...Object.entries(PACKAGES).map(([name, rooms]) => ({
      name: `package-${name.replace(/[^\w-]/g, '')}`,
      severity: 'error',
      from: { path: '^src/', pathNot: rooms.map((one) => (one === 'app' ? leaf('app') : room(one))) },
      // A type alone binds nobody.
      to: { path: `^node_modules/${name}/`, dependencyTypesNot: ['type-only'] },
    })),
    {
      name: 'no-development-package-at-run-time',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'nothing-outside-src',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts|web)/' },
    },
    { name: 'web-is-a-stranger', severity: 'error', from: { path: '^web/' }, to: { path: '^(src|prisma)/' } },
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
