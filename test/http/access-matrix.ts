import { randomUUID } from 'node:crypto'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { type Stage, startOf } from './stage.ts'

/**
 * Who gets what from every route (contract §2, §3). The test beside this file calls each route as each caller and
 * fails for a route that has no row here, and for a row that has no route.
 *
 * `reporter` and `read` are tokens of the batch's owner, who may do more with a session.
 * `batchOwner` is a member of the project; `owner` owns the project.
 */
export const CALLERS = [
  'none',
  'bad',
  'reporter',
  'read',
  'stranger',
  'viewer',
  'member',
  'batchOwner',
  'owner',
  'admin',
] as const
export type CallerName = (typeof CALLERS)[number] | 'agent'

/** What a row may name in its path and body. What a call changes is created for each call. */
export interface Scene {
  stage: Stage
  caller: CallerName
  batch: SceneBatch
  /** A number that no other call gets. */
  n: number
}

/** A running batch of `batchOwner` in the project, with one job. */
export interface SceneBatch {
  id: string
  jobKey: string
}

export interface Row {
  route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'} /${string}`
  /** The project that the batch is in; a second row shows the effect of its visibility. */
  project?: 'vision' | 'open'
  /** The call ends the caller's session, so it gets its own. */
  ownSession?: true
  /** The call ends the caller's other sessions, so a person gets an account of its own. */
  ownAccount?: true
  /** The callers call one after the other: the service limits how many such calls of an address it works on at once. */
  oneByOne?: true
  path?: (scene: Scene) => string | Promise<string>
  body?: (scene: Scene) => unknown
  /** A status for each of CALLERS, in their order. */
  answers: string
  /** What an agent of the batch's owner gets: the same as a reporter token, unless said. */
  agent?: number
}

const ofBatch =
  (suffix = '') =>
  ({ batch }: Scene) =>
    `/api/batches/${batch.id}${suffix}`

/** Reading anything of a private batch, and of a public one. */
const read = (suffix: string): Row[] => [
  {
    route: `GET /api/batches/:id${suffix}`,
    path: ofBatch(suffix),
    answers: '404 401 403 200 404 200 200 200 200 200',
  },
  {
    route: `GET /api/batches/:id${suffix}`,
    project: 'open',
    path: ofBatch(suffix),
    answers: '200 401 403 200 200 200 200 200 200 200',
  },
]

/** The same of the batch's one job. */
const ofJob = (suffix: string, route = suffix): Row[] =>
  read(`/jobs/:job_id${route}`).map((row) => ({
    ...row,
    path: ({ batch }: Scene) => `/api/batches/${batch.id}/jobs/job-1${suffix}`,
  }))

/** A view that the batch's owner saved for this call. */
const savedView =
  (audience: string) =>
  async ({ stage, n }: Scene) => {
    const body = { title: `${audience} ${n}`, path: '/p/vision?sort=lr', project: 'vision', audience }
    const saved = await stage.app.call('POST', '/api/views', { token: stage.batchOwner.token, body })
    return `/api/views/${saved.body.id}`
  }

/** A report that the batch's owner wrote for this call. */
const report =
  (suffix = '') =>
  async ({ stage, n }: Scene) => {
    const body = { title: `report ${n}`, body: 'Text', project: 'vision' }
    const made = await stage.app.call('POST', '/api/reports', { token: stage.batchOwner.token, body })
    return `/api/reports/${made.body.id}${suffix}`
  }

/** A comment that the batch's owner wrote on a batch of theirs for this call. */
const commentOnBatch = async ({ stage, batch, n }: Scene) => {
  const path = `/api/batches/${batch.id}/comments`
  const body = { body: `comment ${n}` }
  const made = await stage.app.call('POST', path, { token: stage.batchOwner.token, body })
  return `${path}/${made.body.id}`
}

/** The same on a report of theirs. */
const commentOnReport = async (scene: Scene) => {
  const path = await report('/comments')(scene)
  const body = { body: `comment ${scene.n}` }
  const made = await scene.stage.app.call('POST', path, { token: scene.stage.batchOwner.token, body })
  return `${path}/${made.body.id}`
}

/** A sweep that the batch's owner created for this call. */
const sweep =
  (suffix = '', project = 'vision') =>
  async ({ stage, n }: Scene) => {
    const made = await stage.app.call('POST', `/api/projects/${project}/sweeps`, {
      token: stage.batchOwner.token,
      body: newSweep(n),
    })
    return `/api/sweeps/${made.body.id}${suffix}`
  }

const newSweep = (n: number) => ({
  name: `sweep ${n}`,
  method: 'grid',
  metric: { name: 'val_loss', goal: 'minimize' },
  parameters: { lr: { values: [0.1, 0.01] } },
})

const EVERYONE = '200 200 200 200 200 200 200 200 200 200'
const NOBODY_FINDS = '404 404 404 404 404 404 404 404 404 404'
/** Lists that show each caller what it can read. */
const READERS = '200 401 403 200 200 200 200 200 200 200'
const PERSONS = (status: number): string => `401 401 403 403 ${`${status} `.repeat(6).trim()}`
const ADMINISTRATORS = '401 401 403 403 403 403 403 403 403 200'

const passkeyAnswer = (response: Record<string, string>) => ({
  id: 'AA',
  rawId: 'AA',
  type: 'public-key',
  response: { clientDataJSON: 'AA', ...response },
})

export const MATRIX: Row[] = [
  { route: 'GET /livez', answers: EVERYONE },
  { route: 'GET /readyz', answers: EVERYONE },
  { route: 'GET /api/settings', answers: EVERYONE },
  // From loopback, where the tests run.
  { route: 'GET /metrics', answers: EVERYONE },
  // The clients of the service are no secret.
  { route: 'GET /pip/simple', path: () => '/pip/simple', answers: EVERYONE.replaceAll('200', '308') },
  { route: 'GET /pip/simple/', path: () => '/pip/simple/', answers: EVERYONE },
  {
    route: 'GET /pip/simple/:project',
    path: () => '/pip/simple/svc-agent',
    answers: EVERYONE.replaceAll('200', '308'),
  },
  { route: 'GET /pip/simple/:project/', path: () => '/pip/simple/svc-agent/', answers: EVERYONE },
  { route: 'GET /pip/files/:file', path: () => '/pip/files/unknown.whl', answers: NOBODY_FINDS },
  { route: 'GET /npm/:name', path: () => '/npm/unknown', answers: NOBODY_FINDS },
  { route: 'GET /npm/files/:file', path: () => '/npm/files/unknown.tgz', answers: NOBODY_FINDS },
  { route: 'GET /api/openapi.json', answers: EVERYONE },
  { route: 'GET /api/docs', answers: EVERYONE },
  { route: 'GET /api/mail.css', answers: EVERYONE },
  { route: 'GET /docs', path: () => '/docs', answers: EVERYONE.replaceAll('200', '308') },
  { route: 'GET /docs/*', path: () => '/docs/unknown', answers: NOBODY_FINDS },

  // What each field shows to whom is in test/graphql/access-table.ts.
  { route: 'GET /graphql', path: () => '/graphql?query=%7B__typename%7D', answers: READERS },
  { route: 'POST /graphql', body: () => ({ query: '{ __typename }' }), answers: READERS },
  { route: 'GET /graphql/schema.graphql', answers: EVERYONE },
  // Read tokens alone.
  {
    route: 'POST /mcp',
    body: () => ({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    answers: '401 401 403 200 403 403 403 403 403 403',
  },

  {
    route: 'POST /api/events',
    body: ({ n }) => startOf({ id: `sent-${n}` }),
    answers: '401 401 200 403 401 401 401 401 401 401',
  },
  {
    route: 'POST /api/events/batch',
    body: ({ n }) => [startOf({ id: `sent-${n}` })],
    answers: '401 401 200 403 401 401 401 401 401 401',
  },

  { route: 'GET /api/auth/register', answers: EVERYONE },
  {
    route: 'POST /api/auth/register',
    body: ({ n }) => ({ email: `registered-${n}@example.org`, password: PASSWORD }),
    answers: '201 201 201 201 201 201 201 201 201 201',
  },
  {
    route: 'POST /api/auth/login',
    oneByOne: true,
    body: ({ stage }) => ({ email: stage.viewer.email, password: PASSWORD }),
    answers: EVERYONE,
  },
  { route: 'POST /api/auth/logout', ownSession: true, answers: PERSONS(204) },
  { route: 'GET /api/auth/me', answers: '401 401 403 200 200 200 200 200 200 200' },
  { route: 'PATCH /api/auth/me', body: ({ caller }) => ({ name: caller }), answers: PERSONS(200) },

  { route: 'GET /api/auth/factors', answers: PERSONS(200) },
  // Refused without the password or a code; test/security has the rest.
  { route: 'POST /api/auth/totp', body: () => ({}), answers: PERSONS(422) },
  { route: 'POST /api/auth/totp/confirm', body: () => ({ code: '123456' }), answers: PERSONS(409) },
  { route: 'POST /api/auth/totp/disable', body: () => ({}), answers: PERSONS(422) },
  { route: 'POST /api/auth/recovery-codes', body: () => ({}), answers: PERSONS(422) },
  {
    route: 'POST /api/auth/login/totp',
    body: () => ({ challenge: 'none', code: '123456' }),
    answers: EVERYONE.replaceAll('200', '401'),
  },
  // Tests ask at 127.0.0.1, where browsers know no passkeys.
  { route: 'GET /api/auth/passkeys', answers: PERSONS(200) },
  { route: 'POST /api/auth/passkeys/options', body: () => ({}), answers: PERSONS(409) },
  {
    route: 'POST /api/auth/passkeys',
    body: () => ({ name: 'key', response: passkeyAnswer({ attestationObject: 'AA' }) }),
    answers: PERSONS(409),
  },
  {
    route: 'PATCH /api/auth/passkeys/:id',
    path: () => '/api/auth/passkeys/none',
    body: () => ({ name: 'key' }),
    answers: PERSONS(404),
  },
  {
    route: 'DELETE /api/auth/passkeys/:id',
    path: () => '/api/auth/passkeys/none',
    answers: PERSONS(404),
  },
  {
    route: 'POST /api/auth/login/passkey/options',
    body: () => ({}),
    answers: EVERYONE.replaceAll('200', '409'),
  },
  {
    route: 'POST /api/auth/login/passkey',
    body: () => ({ response: passkeyAnswer({ authenticatorData: 'AA', signature: 'AA' }) }),
    answers: EVERYONE.replaceAll('200', '409'),
  },
  { route: 'GET /api/auth/sessions', answers: PERSONS(200) },
  { route: 'DELETE /api/auth/sessions', ownAccount: true, answers: PERSONS(204) },
  {
    route: 'DELETE /api/auth/sessions/:id',
    path: () => '/api/auth/sessions/none',
    answers: PERSONS(404),
  },

  // No provider is configured here; test/oauth has the rest.
  { route: 'GET /api/oauth', answers: EVERYONE },
  { route: 'GET /api/oauth/:idp/start', path: () => '/api/oauth/none/start', answers: NOBODY_FINDS },
  { route: 'GET /api/oauth/:idp/callback', path: () => '/api/oauth/none/callback', answers: NOBODY_FINDS },
  {
    route: 'POST /api/oauth/:idp/link',
    path: () => '/api/oauth/none/link',
    body: () => ({}),
    answers: PERSONS(404),
  },
  { route: 'GET /api/auth/identities', answers: PERSONS(200) },
  {
    route: 'DELETE /api/auth/identities/:id',
    path: () => '/api/auth/identities/none',
    answers: PERSONS(404),
  },

  { route: 'GET /api/tokens', answers: PERSONS(200) },
  { route: 'POST /api/tokens', body: () => ({ name: 'more', scope: 'read' }), answers: PERSONS(201) },
  {
    route: 'DELETE /api/tokens/:id',
    // The batch owner's, so only they may revoke it.
    path: async ({ stage }) => {
      const body = { name: 'short-lived', scope: 'read' }
      const made = await stage.app.call('POST', '/api/tokens', { token: stage.batchOwner.token, body })
      return `/api/tokens/${made.body.id}`
    },
    answers: '401 401 403 403 404 404 404 204 404 404',
  },

  { route: 'GET /api/views', answers: READERS },
  {
    route: 'POST /api/views',
    body: ({ n }) => ({ title: `view ${n}`, path: '/p/vision?q=lr', project: 'vision', audience: 'project' }),
    answers: '401 401 403 403 404 403 201 201 201 201',
  },
  {
    route: 'POST /api/views',
    body: ({ n }) => ({ title: `view ${n}`, path: '/p/vision', project: 'vision', audience: 'default' }),
    answers: '401 401 403 403 404 403 403 403 201 201',
  },
  {
    route: 'GET /api/views/:id',
    path: savedView('project'),
    answers: '404 401 403 200 404 200 200 200 200 200',
  },
  {
    route: 'GET /api/views/:id',
    path: savedView('private'),
    answers: '404 401 403 200 404 404 404 200 404 404',
  },
  {
    route: 'PATCH /api/views/:id',
    path: savedView('project'),
    body: () => ({ colors: { '1': 2 } }),
    answers: '401 401 403 403 404 403 403 200 200 200',
  },
  {
    route: 'DELETE /api/views/:id',
    path: savedView('project'),
    answers: '401 401 403 403 404 403 403 204 204 204',
  },

  // Reporter tokens create sweeps, ask and read.
  {
    route: 'POST /api/projects/:slug/sweeps',
    path: () => '/api/projects/vision/sweeps',
    body: ({ n }) => newSweep(n),
    answers: '401 401 201 403 404 403 201 201 201 201',
    agent: 403,
  },
  {
    route: 'POST /api/projects/:slug/sweeps/preview',
    path: () => '/api/projects/vision/sweeps/preview',
    body: () => ({ method: 'grid', parameters: { lr: { values: [1] } } }),
    answers: '401 401 200 403 404 403 200 200 200 200',
    agent: 403,
  },
  {
    route: 'GET /api/sweeps/:id',
    path: sweep(),
    answers: '404 401 200 200 404 200 200 200 200 200',
    agent: 403,
  },
  {
    route: 'GET /api/sweeps/:id',
    project: 'open',
    path: sweep('', 'open'),
    answers: '200 401 200 200 200 200 200 200 200 200',
    agent: 403,
  },
  {
    route: 'GET /api/sweeps/:id/trials',
    path: sweep('/trials'),
    answers: '404 401 200 200 404 200 200 200 200 200',
    agent: 403,
  },
  {
    route: 'POST /api/sweeps/:id/trials',
    path: sweep('/trials'),
    body: () => ({ worker: 'w' }),
    answers: '401 401 201 403 404 403 201 201 201 201',
    agent: 403,
  },
  {
    // No trial was asked for.
    route: 'POST /api/sweeps/:id/trials/:number/lease',
    path: sweep('/trials/0/lease'),
    body: () => ({ ask_id: 'a' }),
    answers: '401 401 404 403 404 403 404 404 404 404',
    agent: 403,
  },
  {
    // No trial has failed.
    route: 'POST /api/sweeps/:id/queue',
    path: sweep('/queue'),
    body: () => ({ failed: true }),
    answers: '401 401 409 403 404 403 403 409 409 409',
    agent: 403,
  },
  {
    route: 'POST /api/sweeps/:id/commands',
    path: sweep('/commands'),
    body: () => ({ host: 'alpha', command: 'svc-reporter sweep run', cwd: '/' }),
    answers: '401 401 204 403 404 403 204 204 204 204',
    agent: 403,
  },
  {
    // No worker has recorded its command.
    route: 'POST /api/sweeps/:id/workers',
    path: sweep('/workers'),
    body: () => ({ command_id: 'a' }),
    answers: '401 401 403 403 404 403 403 409 409 409',
  },
  {
    route: 'PATCH /api/sweeps/:id',
    path: sweep(),
    body: () => ({ state: 'paused' }),
    answers: '401 401 200 403 404 403 403 200 200 200',
    agent: 403,
  },

  ...['embed', 'chart.svg', 'chart.png', 'badge.svg'].map(
    (path): Row => ({
      route: `GET /api/shared/:token/${path}`,
      path: async ({ stage, batch }) => {
        const wanted = { token: stage.batchOwner.token, body: { embed: true } }
        const made = await stage.app.call('POST', `/api/batches/${batch.id}/shares`, wanted)
        return `/api/shared/${made.body.token}/${path}`
      },
      answers: EVERYONE,
    }),
  ),
  {
    route: 'GET /api/shared-reports/:token/embed',
    path: async (scene) => {
      const path = await report('/links')(scene)
      const wanted = { token: scene.stage.batchOwner.token, body: { embed: true } }
      const made = await scene.stage.app.call('POST', path, wanted)
      return `/api/shared-reports/${made.body.token}/embed`
    },
    answers: EVERYONE,
  },
  {
    route: 'GET /api/oembed',
    path: () => '/api/oembed?url=https%3A%2F%2Fexample.org',
    answers: NOBODY_FINDS,
  },
  ...read('/comments'),
  {
    route: 'POST /api/batches/:id/comments',
    path: ofBatch('/comments'),
    body: ({ n }) => ({ body: `comment ${n}` }),
    answers: '401 401 403 403 404 403 201 201 201 201',
  },
  {
    route: 'PATCH /api/batches/:id/comments/:comment',
    path: commentOnBatch,
    body: () => ({ body: 'other words' }),
    answers: '401 401 403 403 404 403 403 200 403 403',
  },
  {
    route: 'DELETE /api/batches/:id/comments/:comment',
    path: commentOnBatch,
    answers: '401 401 403 403 404 403 403 204 204 204',
  },
  {
    route: 'GET /api/reports/:id/comments',
    path: report('/comments'),
    answers: '404 401 403 200 404 200 200 200 200 200',
  },
  {
    route: 'POST /api/reports/:id/comments',
    path: report('/comments'),
    body: ({ n }) => ({ body: `comment ${n}` }),
    answers: '401 401 403 403 404 403 201 201 201 201',
  },
  {
    route: 'PATCH /api/reports/:id/comments/:comment',
    path: commentOnReport,
    body: () => ({ body: 'other words' }),
    answers: '401 401 403 403 404 403 403 200 403 403',
  },
  {
    route: 'DELETE /api/reports/:id/comments/:comment',
    path: commentOnReport,
    answers: '401 401 403 403 404 403 403 204 204 204',
  },
  { route: 'GET /api/notices', answers: PERSONS(200) },
  { route: 'POST /api/notices/read', body: () => ({ ids: [] }), answers: PERSONS(200) },
  { route: 'GET /api/notices/choices', answers: PERSONS(200) },
  { route: 'PATCH /api/notices/choices', body: () => ({}), answers: PERSONS(200) },
  { route: 'GET /api/reports', answers: READERS },
  {
    route: 'POST /api/reports',
    body: ({ n }) => ({ title: `report ${n}`, body: 'Text', project: 'vision' }),
    answers: '401 401 403 403 404 403 201 201 201 201',
  },
  { route: 'GET /api/reports/:id', path: report(), answers: '404 401 403 200 404 200 200 200 200 200' },
  {
    route: 'PATCH /api/reports/:id',
    path: report(),
    body: () => ({ body: 'Other text' }),
    answers: '401 401 403 403 404 403 200 200 200 200',
  },
  { route: 'DELETE /api/reports/:id', path: report(), answers: '401 401 403 403 404 403 403 204 204 204' },
  {
    route: 'POST /api/reports/:id/links',
    path: report('/links'),
    answers: '401 401 403 403 404 403 403 201 201 201',
  },
  {
    route: 'DELETE /api/reports/:id/links',
    path: report('/links'),
    answers: '401 401 403 403 404 403 403 204 204 204',
  },
  {
    route: 'DELETE /api/reports/:id/links/:link',
    // The report has no link of that id: callers with the right learn that.
    path: report('/links/00000000-0000-4000-8000-000000000000'),
    answers: '401 401 403 403 404 403 403 404 404 404',
  },
  {
    route: 'GET /api/shared-reports/:token',
    path: async (scene) => {
      const path = await report('/links')(scene)
      const made = await scene.stage.app.call('POST', path, { token: scene.stage.batchOwner.token })
      return `/api/shared-reports/${made.body.token}`
    },
    answers: EVERYONE,
  },

  { route: 'GET /api/admin/users', answers: ADMINISTRATORS },
  {
    route: 'PATCH /api/admin/users/:id',
    path: ({ stage }) => `/api/admin/users/${stage.stranger.id}`,
    body: () => ({ role: 'user' }),
    answers: ADMINISTRATORS,
  },
  { route: 'POST /api/admin/jwt/rotate', answers: ADMINISTRATORS },
  { route: 'GET /api/admin/audit', answers: ADMINISTRATORS },
  { route: 'GET /api/admin/audit.csv', answers: ADMINISTRATORS },
  { route: 'GET /api/admin/audit.jsonl', answers: ADMINISTRATORS },
  { route: 'GET /api/admin/notices', answers: ADMINISTRATORS },
  {
    route: 'DELETE /api/admin/users/:id/factors',
    path: async ({ stage }) => `/api/admin/users/${(await stage.app.register()).user.id}/factors`,
    answers: ADMINISTRATORS.replace('200', '204'),
  },

  { route: 'GET /api/projects', answers: READERS },
  { route: 'POST /api/projects', body: ({ n }) => ({ slug: `made-${n}` }), answers: PERSONS(201) },
  {
    route: 'GET /api/projects/:slug',
    path: () => '/api/projects/vision',
    answers: '404 401 403 200 404 200 200 200 200 200',
  },
  { route: 'GET /api/projects/:slug', path: () => '/api/projects/open', answers: READERS },
  {
    route: 'PATCH /api/projects/:slug',
    path: () => '/api/projects/vision',
    body: () => ({ display_name: 'Vision' }),
    answers: '401 401 403 403 404 403 403 403 200 200',
  },
  {
    route: 'PATCH /api/projects/:slug',
    path: () => '/api/projects/open',
    body: () => ({ visibility: 'public' }),
    answers: '401 401 403 403 403 403 403 403 200 200',
  },
  {
    route: 'GET /api/projects/:slug/fields',
    path: () => '/api/projects/vision/fields',
    answers: '404 401 403 200 404 200 200 200 200 200',
  },
  { route: 'GET /api/projects/:slug/fields', path: () => '/api/projects/open/fields', answers: READERS },
  {
    route: 'GET /api/projects/:slug/members',
    path: () => '/api/projects/vision/members',
    answers: '401 401 403 200 404 200 200 200 200 200',
  },
  {
    route: 'GET /api/projects/:slug/members',
    path: () => '/api/projects/open/members',
    answers: '401 401 403 200 403 200 200 200 200 200',
  },
  {
    route: 'POST /api/auth/confirm',
    body: () => ({ current_password: PASSWORD }),
    answers: PERSONS(204),
  },
  {
    route: 'GET /api/projects/:slug/links',
    path: () => '/api/projects/vision/links',
    answers: '401 401 403 403 404 403 403 403 200 200',
  },
  {
    route: 'POST /api/projects/:slug/members',
    path: () => '/api/projects/vision/members',
    body: ({ stage }) => ({ email: stage.viewer.email, role: 'viewer' }),
    answers: '401 401 403 403 404 403 403 403 200 200',
  },
  {
    route: 'DELETE /api/projects/:slug/members/:user_id',
    // There is no member of that id: callers with the right learn that.
    path: ({ stage }) => `/api/projects/vision/members/${stage.stranger.id}`,
    answers: '401 401 403 403 404 403 403 403 404 404',
  },
  { route: 'GET /api/invitations', answers: PERSONS(200) },
  // 404 for users to whom it does not belong.
  ...['accept', 'decline'].map(
    (suffix): Row => ({
      route: `POST /api/invitations/:id/${suffix}`,
      path: () => `/api/invitations/00000000-0000-4000-8000-000000000000/${suffix}`,
      answers: PERSONS(404),
    }),
  ),
  {
    route: 'GET /api/projects/:slug/invitations',
    path: () => '/api/projects/vision/invitations',
    answers: '401 401 403 403 404 403 403 403 200 200',
  },
  {
    route: 'DELETE /api/projects/:slug/invitations/:id',
    path: () => '/api/projects/vision/invitations/none',
    answers: '401 401 403 403 404 403 403 403 404 404',
  },
  {
    route: 'GET /api/projects/:slug/confirmations',
    path: () => '/api/projects/vision/confirmations',
    answers: '401 401 403 403 404 403 403 403 200 200',
  },
  {
    // Without a mail server no confirmation can be sent: callers with the right learn that.
    route: 'POST /api/projects/:slug/confirmations',
    path: () => '/api/projects/vision/confirmations',
    body: () => ({ email: 'team@example.org' }),
    answers: '401 401 403 403 404 403 403 403 409 409',
  },
  { route: 'GET /api/auth/verification', answers: PERSONS(200) },
  { route: 'POST /api/auth/verification', answers: PERSONS(409) },
  // Holders of the link; these tokens were never given out.
  { route: 'GET /verify/:token', path: () => `/verify/${'x'.repeat(43)}`, answers: NOBODY_FINDS },
  { route: 'POST /verify/:token', path: () => `/verify/${'x'.repeat(43)}`, answers: NOBODY_FINDS },
  {
    route: 'PUT /api/projects/:slug/recipients',
    path: () => '/api/projects/vision/recipients',
    body: () => ({ emails: ['team@example.org'] }),
    answers: '401 401 403 403 404 403 403 403 200 200',
  },

  {
    route: 'GET /api/projects/:slug/rules',
    path: () => '/api/projects/vision/rules',
    answers: '401 401 403 403 404 403 403 403 200 200',
  },
  {
    route: 'GET /api/projects/:slug/rules',
    path: () => '/api/projects/open/rules',
    answers: '401 401 403 403 403 403 403 403 200 200',
  },
  {
    route: 'POST /api/projects/:slug/rules',
    path: () => '/api/projects/vision/rules',
    body: () => ({ trigger: 'batch_done', enabled: false }),
    answers: '401 401 403 403 404 403 403 403 201 201',
  },
  {
    route: 'GET /api/projects/:slug/rules',
    path: () => '/api/projects/vision/rules?personal=true',
    answers: '401 401 403 403 404 200 200 200 200 200',
  },
  {
    route: 'POST /api/projects/:slug/rules',
    path: () => '/api/projects/vision/rules',
    body: () => ({ trigger: 'batch_done', enabled: false, personal: true }),
    answers: '401 401 403 403 404 201 201 201 201 201',
  },
  {
    route: 'POST /api/projects/:slug/rules/preview',
    path: () => '/api/projects/vision/rules/preview',
    body: () => ({ trigger: 'batch_done' }),
    answers: '401 401 403 403 404 403 403 403 200 200',
  },
  ...(
    [
      ['GET', '/preview', undefined, 200],
      ['PATCH', '', { name: 'other' }, 200],
      ['DELETE', '', undefined, 204],
      ['POST', '/test', undefined, 202],
      ['GET', '/deliveries', undefined, 200],
      ['GET', '/messages', undefined, 200],
    ] as const
  ).map(
    ([method, suffix, body, status]): Row => ({
      route: `${method} /api/rules/:id${suffix}`,
      path: async (scene) => `/api/rules/${await ruleOf(scene)}${suffix}`,
      body: () => body,
      answers: `401 401 403 403 404 403 403 403 ${status} ${status}`,
    }),
  ),
  {
    route: 'POST /api/rules/:id/deliveries/:delivery/send',
    path: async (scene) => `/api/rules/${await ruleOf(scene)}/deliveries/${randomUUID()}/send`,
    // The rule has no messages.
    answers: '401 401 403 403 404 403 403 403 404 404',
  },
  {
    route: 'GET /api/batches/:id/mute',
    path: ofBatch('/mute'),
    answers: '401 401 403 403 404 403 403 200 200 200',
  },
  {
    route: 'PUT /api/batches/:id/mute',
    path: ofBatch('/mute'),
    body: () => ({ muted: true }),
    answers: '401 401 403 403 404 403 403 200 200 200',
  },
  // Holders of the link in a mail, with any other credential.
  { route: 'GET /mail/:token', path: mailLinkOf, answers: EVERYONE },
  { route: 'POST /mail/:token', path: mailLinkOf, body: () => ({ action: 'resume' }), answers: EVERYONE },

  { route: 'GET /api/batches', answers: READERS },
  {
    route: 'GET /api/batches',
    path: () => '/api/batches?deleted=true',
    answers: '401 401 403 200 200 200 200 200 200 200',
  },
  { route: 'GET /api/dashboard/summary', answers: READERS },
  { route: 'GET /api/dashboard/activity', answers: READERS },

  ...read(''),
  ...read('/jobs'),
  ...read('/metrics'),
  ...ofJob('/attempts'),
  ...ofJob('/attempts/1/metrics', '/attempts/:n/metrics'),
  {
    route: 'GET /api/batches/:id/metrics/groups',
    path: ofBatch('/metrics/groups?group_by=status'),
    answers: '404 401 403 200 404 200 200 200 200 200',
  },
  {
    route: 'GET /api/batches/:id/metrics/groups',
    project: 'open',
    path: ofBatch('/metrics/groups?group_by=status'),
    answers: '200 401 403 200 200 200 200 200 200 200',
  },
  ...read('/resources'),
  ...read('/log-lines'),
  ...read('/eta'),
  ...read('/jobs/eta-all'),
  ...read('/delivery'),
  ...read('/files'),
  ...read('/artifacts'),
  ...read('/media'),
  ...read('/media/keys'),
  ...read('/media/steps'),
  {
    route: 'POST /api/batches/:id/files',
    path: ofBatch('/files'),
    body: () => ({ files: [{ path: 'a.txt', sha256: 'a'.repeat(64), size: 1 }] }),
    // Files are sent with the tokens that send events.
    answers: '401 401 200 403 403 403 403 403 403 403',
  },
  // Who may see the batch finds no such file in it.
  {
    route: 'GET /api/batches/:id/files.zip',
    path: ofBatch('/files.zip'),
    answers: '404 401 403 404 404 404 404 404 404 404',
  },
  {
    route: 'GET /api/batches/:id/files/*',
    path: ofBatch('/files/a.txt'),
    answers: '404 401 403 404 404 404 404 404 404 404',
  },
  {
    route: 'DELETE /api/batches/:id/files/*',
    path: ofBatch('/files/a.txt'),
    answers: '401 401 403 403 404 403 403 404 404 404',
  },
  {
    route: 'OPTIONS /api/uploads/:id',
    answers: '204 204 204 204 204 204 204 204 204 204',
  },
  {
    route: 'PATCH /api/uploads/:id',
    path: () => '/api/uploads/00000000-0000-4000-8000-000000000000',
    // Without `Tus-Resumable`.
    answers: '401 401 412 403 403 403 403 403 403 403',
  },
  ...read('/delivery/jobs'),
  ...read('/health'),
  ...read('/export.csv'),
  ...read('/metrics.csv'),
  ...read('/metrics.arrow'),
  {
    route: 'GET /api/batches/:id/stop-requested',
    path: ofBatch('/stop-requested'),
    answers: '404 401 200 200 404 200 200 200 200 200',
  },
  {
    route: 'GET /api/batches/:id/resume-point',
    path: ofBatch('/resume-point'),
    answers: '404 401 200 200 404 200 200 200 200 200',
  },
  {
    route: 'GET /api/batches/:id/stored',
    path: ofBatch('/stored'),
    answers: '404 401 200 200 404 200 200 200 200 200',
  },
  {
    route: 'PATCH /api/batches/:id',
    path: ofBatch(),
    body: () => ({ notes: 'seen' }),
    answers: '401 401 403 403 404 403 200 200 200 200',
  },
  {
    route: 'PATCH /api/batches/:id',
    project: 'open',
    path: ofBatch(),
    body: () => ({ tags: ['seen'] }),
    answers: '401 401 403 403 403 403 200 200 200 200',
  },
  {
    route: 'POST /api/batches/:id/stop',
    path: ofBatch('/stop'),
    answers: '401 401 403 403 404 403 403 200 200 200',
  },
  {
    route: 'POST /api/batches/:id/stop',
    project: 'open',
    path: ofBatch('/stop'),
    answers: '401 401 403 403 403 403 403 200 200 200',
  },
  {
    route: 'POST /api/batches/:id/end',
    path: ofBatch('/end'),
    body: () => ({ status: 'failed' }),
    answers: '401 401 403 403 404 403 403 200 200 200',
  },
  {
    route: 'POST /api/batches/:id/end',
    project: 'open',
    path: ofBatch('/end'),
    body: () => ({ status: 'failed' }),
    answers: '401 401 403 403 403 403 403 200 200 200',
  },
  { route: 'DELETE /api/batches/:id', path: ofBatch(), answers: '401 401 403 403 404 403 403 204 204 204' },
  {
    route: 'POST /api/batches/bulk-delete',
    // Answers with a result per batch, so it refuses no user as a whole.
    body: ({ batch }) => ({ batch_ids: [batch.id] }),
    answers: PERSONS(200),
  },
  {
    route: 'POST /api/batches/:id/restore',
    path: async ({ stage, batch }) => {
      await stage.app.call('DELETE', `/api/batches/${batch.id}`, { token: stage.batchOwner.token })
      return `/api/batches/${batch.id}/restore`
    },
    answers: '401 401 403 403 404 403 403 200 200 200',
  },
  {
    route: 'POST /api/batches/:id/shares',
    path: ofBatch('/shares'),
    answers: '401 401 403 403 404 403 403 201 201 201',
  },
  {
    route: 'GET /api/batches/:id/shares',
    path: ofBatch('/shares'),
    answers: '401 401 403 403 404 403 403 200 200 200',
  },
  {
    route: 'DELETE /api/shares/:id',
    path: async (scene) => `/api/shares/${(await shareOf(scene)).id}`,
    answers: '401 401 403 403 404 403 403 204 204 204',
  },
  {
    route: 'GET /api/shared/:token',
    path: async (scene) => `/api/shared/${(await shareOf(scene)).token}`,
    answers: EVERYONE,
  },
  ...['files', 'media', 'media/keys', 'media/steps'].map(
    (what): Row => ({
      route: `GET /api/shared/:token/${what}`,
      path: async (scene) => `/api/shared/${(await shareOf(scene)).token}/${what}`,
      answers: EVERYONE,
    }),
  ),
  {
    route: 'GET /api/shared/:token/files.zip',
    path: async (scene) => `/api/shared/${(await shareOf(scene)).token}/files.zip`,
    answers: NOBODY_FINDS,
  },
  {
    route: 'GET /api/shared/:token/files/*',
    path: async (scene) => `/api/shared/${(await shareOf(scene)).token}/files/none.txt`,
    answers: NOBODY_FINDS,
  },

  ...['', '/:name', '/:name/aliases/history', '/:name/:version', '/:name/:version/lineage'].map(
    (what): Row => ({
      route: `GET /api/projects/:slug/artifacts${what}`,
      path: () => `/api/projects/vision/artifacts${what.replace(':name', 'none').replace(':version', 'v0')}`,
      // There is no such artifact; tokens that send events may read, because runs use artifacts.
      answers:
        what === '' ? '404 401 200 200 404 200 200 200 200 200' : '404 401 404 404 404 404 404 404 404 404',
    }),
  ),
  {
    route: 'GET /api/projects/:slug/artifacts/:name/:version/files/*',
    path: () => '/api/projects/vision/artifacts/none/v0/files/x',
    answers: '404 401 404 404 404 404 404 404 404 404',
  },
  {
    route: 'POST /api/projects/:slug/artifacts',
    path: () => '/api/projects/vision/artifacts',
    body: ({ n }) => ({
      name: `made-${n}`,
      type: 'model',
      files: [{ path: 'a', sha256: 'a'.repeat(64), size: 1 }],
    }),
    answers: '401 401 201 403 404 403 201 201 201 201',
  },
  {
    route: 'PUT /api/projects/:slug/artifacts/:name/:version/aliases',
    path: () => '/api/projects/vision/artifacts/none/v0/aliases',
    body: () => ({ add: ['best'] }),
    answers: '401 401 404 403 404 403 404 404 404 404',
  },
  {
    route: 'POST /api/projects/:slug/artifacts/:name/:version/uses',
    path: () => '/api/projects/vision/artifacts/none/v0/uses',
    body: () => ({ batch_id: 'none' }),
    answers: '401 401 404 403 404 403 404 404 404 404',
  },
  {
    route: 'DELETE /api/projects/:slug/artifacts/:name/:version',
    path: () => '/api/projects/vision/artifacts/none/v0',
    answers: '401 401 403 403 404 404 404 404 404 404',
  },

  {
    route: 'GET /api/sse',
    path: ({ batch }) => `/api/sse?channel=batch:${batch.id}`,
    answers: '403 401 403 200 403 200 200 200 200 200',
  },
  {
    route: 'GET /api/sse',
    project: 'open',
    path: ({ batch }) => `/api/sse?channel=batch:${batch.id}`,
    answers: READERS,
  },
  {
    // A refused subscription is a GraphQL error within the stream.
    route: 'POST /api/sse',
    body: () => ({ query: 'subscription { live(channels: ["dashboard"]) { cursor } }' }),
    answers: READERS,
  },

  { route: 'GET /api/jobs', answers: READERS },
  {
    route: 'GET /api/jobs/:key',
    path: ({ batch }) => `/api/jobs/${batch.jobKey}`,
    answers: '404 401 403 200 404 200 200 200 200 200',
  },
  {
    route: 'GET /api/jobs/:key',
    project: 'open',
    path: ({ batch }) => `/api/jobs/${batch.jobKey}`,
    answers: READERS,
  },
  {
    route: 'PATCH /api/jobs/:key',
    path: ({ batch }) => `/api/jobs/${batch.jobKey}`,
    body: () => ({ notes: 'seen' }),
    answers: '401 401 403 403 404 403 200 200 200 200',
  },
  // Jobs that a caller does not see are left out: see test/metrics/compared-series.test.ts.
  {
    route: 'GET /api/jobs/metrics',
    path: ({ batch }) => `/api/jobs/metrics?key=loss&job_keys=${batch.jobKey}`,
    answers: READERS,
  },
  {
    route: 'GET /api/jobs/metrics/groups',
    path: ({ batch }) => `/api/jobs/metrics/groups?key=loss&group_by=batch&job_keys=${batch.jobKey}`,
    answers: READERS,
  },
  {
    route: 'GET /api/jobs/metrics/clip',
    path: ({ batch }) => `/api/jobs/metrics/clip?key=loss&clip=0.1&job_keys=${batch.jobKey}`,
    answers: READERS,
  },
  ...['', '/keys', '/steps'].map(
    (what): Row => ({
      route: `GET /api/jobs/media${what}`,
      path: ({ batch }) => `/api/jobs/media${what}?job_keys=${batch.jobKey}`,
      answers: READERS,
    }),
  ),
  // With a credential of a person or a program; agents' own answers are in test/agents.
  {
    route: 'POST /api/agents/register',
    body: ({ caller }) => ({ hostname: `host-of-${caller}`, capabilities: {}, version: '1' }),
    answers: '401 401 200 403 200 200 200 200 200 200',
    agent: 403,
  },
  ...(
    [
      ['GET', '/jobs', undefined],
      ['POST', '/heartbeat', undefined],
      ['POST', '/jobs/:cmd_id/claim', undefined],
      ['POST', '/jobs/:cmd_id/ack', { pid: 1 }],
      ['POST', '/jobs/:cmd_id/steps', { steps: [{ step: 'sigterm' }] }],
      ['POST', '/jobs/:cmd_id/result', { exit_code: 0 }],
    ] as const
  ).map(
    ([method, suffix, body]): Row => ({
      route: `${method} /api/agents/:id${suffix}`,
      path: async (scene) =>
        `/api/agents/${await agentOf(scene)}${suffix.replace(':cmd_id', scene.batch.id)}`,
      body: () => body,
      answers: '401 401 403 403 403 403 403 403 403 403',
      // Another agent, of the same user.
      agent: 404,
    }),
  ),
  { route: 'GET /api/hosts', answers: '401 401 403 200 200 200 200 200 200 200' },
  ...['', '/resources'].map(
    (suffix): Row => ({
      route: `GET /api/hosts/:id${suffix}`,
      // The batch owner's.
      path: async (scene) => `/api/hosts/${await agentOf(scene)}${suffix}`,
      answers: '401 401 403 200 404 404 404 200 404 200',
    }),
  ),
  {
    route: 'DELETE /api/hosts/:id',
    path: async (scene) => `/api/hosts/${await agentOf(scene)}`,
    answers: '401 401 403 403 404 404 404 204 404 204',
  },
  {
    route: 'POST /api/batches/:id/rerun',
    // No agent is on its host: users who may rerun it learn that.
    path: ofBatch('/rerun'),
    answers: '401 401 403 403 404 403 403 409 409 409',
  },
  {
    route: 'POST /api/batches/:id/rerun',
    path: ofBatch('/rerun'),
    body: () => ({ command: 'true' }),
    answers: '401 401 403 403 404 403 403 409 403 403',
  },
  {
    route: 'POST /api/batches/:id/commands/:cmd_id/cancel',
    path: ofBatch('/commands/none/cancel'),
    answers: '401 401 403 403 404 403 403 404 404 404',
  },
  ...['/commands', '/timeline'].flatMap((suffix): Row[] => [
    {
      route: `GET /api/batches/:id${suffix}`,
      path: ofBatch(suffix),
      answers: '404 401 403 200 404 200 200 200 200 200',
    },
    {
      route: `GET /api/batches/:id${suffix}`,
      project: 'open',
      path: ofBatch(suffix),
      answers: '401 401 403 200 403 200 200 200 200 200',
    },
  ]),
]

/** An agent of the batch owner. */
async function agentOf({ stage, caller }: Scene): Promise<string> {
  const body = { hostname: `seen-by-${caller}`, capabilities: {}, version: '1' }
  const made = await stage.app.call('POST', '/api/agents/register', { token: stage.batchOwner.token, body })
  return made.body.agent_id
}

async function ruleOf({ stage }: Scene): Promise<string> {
  const body = { trigger: 'batch_done', enabled: false }
  const made = await stage.app.call('POST', '/api/projects/vision/rules', { token: stage.owner.token, body })
  return made.body.id
}

async function mailLinkOf({ stage, n }: Scene): Promise<string> {
  const token = String(n).padStart(32, '0')
  await stage.app.sql`
    insert into notification_recipients (project_key, address_key, token)
    select key, ${`reader-${n}@example.org`}, ${token} from projects where slug = 'vision'`
  return `/mail/${token}`
}

async function shareOf({ stage, batch }: Scene): Promise<{ id: string; token: string }> {
  const made = await stage.app.call('POST', `/api/batches/${batch.id}/shares`, {
    token: stage.batchOwner.token,
  })
  return made.body
}

/**
 * Running batches of `batchOwner` in the row's project, each with one job, for `count` calls of the row. Calls of a GET
 * change nothing, so all of them in a project read the same batch; any other call has a batch of its own.
 */
export async function batchesFor(stage: Stage, row: Row, count: number): Promise<SceneBatch[]> {
  const project = row.project ?? 'vision'
  if (!row.route.startsWith('GET ')) return createBatches(stage, project, count)
  const batches = shared.get(stage) ?? {}
  shared.set(stage, batches)
  batches[project] ??= createBatches(stage, project, 1)
  const [batch] = await batches[project]
  return Array<SceneBatch>(count).fill(batch as SceneBatch)
}
const shared = new WeakMap<Stage, Partial<Record<string, Promise<SceneBatch[]>>>>()

let created = 0
async function createBatches(stage: Stage, project: string, count: number): Promise<SceneBatch[]> {
  const ids = Array.from({ length: count }, () => `scene-${++created}`)
  const events = ids.flatMap((id) => [
    startOf({ id, project }),
    makeEvent('job_start', { batch_id: id, source: { project } }),
  ])
  await stage.send(stage.batchOwner, events)
  return stage.app.sql<SceneBatch[]>`
    select b.id, j.key::text "jobKey" from batches b join jobs j on j.batch_key = b.key where b.id = any(${ids})`
}
