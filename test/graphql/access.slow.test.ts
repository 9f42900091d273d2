import {
  type GraphQLField,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildSchema } from '../../src/graphql/schema.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { ACCESS, PARTS, type Rule } from './access-table.ts'
import { ask, post } from './asking.ts'

// Every field as every caller (contract §2).

const SECRETS = ['kim', 'box1', '/home/kim', 'a secret line', 'batch-owner']

let stage: Stage
let hostId = ''
let tokens: Record<string, string | undefined>
const reports: Record<string, string> = {}
const shares: Record<'open' | 'anonymous', string> = { open: '', anonymous: '' }
beforeAll(async () => {
  stage = await openStage()
  for (const project of ['vision', 'open']) {
    const source = { project, host: 'box1', user: 'kim', command: 'python /home/kim/train.py' }
    const of = { batch_id: `of ${project}`, source, job_id: 'j' }
    await stage.send(stage.batchOwner, [
      startOf({ id: of.batch_id, source }, { cwd: '/home/kim', tags: ['by kim'] }),
      makeEvent('job_start', { ...of, data: { model: 'm', data_dir: '/home/kim/data', who: 'kim on box1' } }),
      makeEvent('job_epoch', of),
      makeEvent('log_line', { ...of, data: { line: 'a secret line', level: 'info' } }),
      makeEvent('resource_snapshot', { ...of, data: { ram_mb: 1 } }),
    ])
    const written = { title: 'Report', project, body: 'text' }
    const report = await stage.app.call('POST', '/api/reports', { token: stage.owner.token, body: written })
    reports[project] = report.body.id
  }
  // For the field with the agent on the host of the batch.
  const registered = await stage.app.call('POST', '/api/agents/register', {
    token: stage.batchOwner.token,
    body: { hostname: 'box1', capabilities: {}, version: '1' },
  })
  hostId = registered.body.agent_id
  for (const kind of ['open', 'anonymous'] as const) {
    const made = await stage.app.call('POST', '/api/batches/of%20vision/shares', {
      token: stage.batchOwner.token,
      body: { anonymous: kind === 'anonymous' },
    })
    shares[kind] = made.body.token
  }
  const { admin, owner, batchOwner, member, viewer, stranger } = stage
  tokens = {
    none: undefined,
    stranger: stranger.token,
    viewer: viewer.token,
    member: member.token,
    batchOwner: batchOwner.token,
    owner: owner.token,
    admin: admin.token,
    read: viewer.read,
  }
})
afterAll(() => stage?.stop())

const IN_PROJECT = ['viewer', 'member', 'batchOwner', 'owner', 'admin', 'read']
const CALLERS = ['none', 'stranger', ...IN_PROJECT]
const SHARERS = ['batchOwner', 'owner', 'admin']

const schema = buildSchema()
const fieldsOf = (name: string): GraphQLField<unknown, unknown>[] => {
  const type = schema.getType(name)
  return isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
}

test('every field of the schema has a row in the table, and every row has a field', () => {
  const fields = Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith('__') && !PARTS.has(type.name))
    .flatMap(({ name }) => fieldsOf(name).map((field) => `${name}.${field.name}`))
  expect(fields.toSorted()).toEqual([...ACCESS.keys()].toSorted())
})

/** The field, with its required arguments and a selection of its fields. */
function asked(field: GraphQLField<unknown, unknown>, project: string): string {
  const values: Record<string, string> = {
    slug: JSON.stringify(project),
    id: JSON.stringify(`of ${project}`),
    batchId: JSON.stringify(`of ${project}`),
    token: JSON.stringify(shares.open),
    ids: '[]',
    channels: '[]',
    n: '1',
    groupBy: '"model"',
    keys: '["train_loss"]',
    share: '0.1',
    names: '["last.train_loss"]',
  }
  if (field.name === 'report') values.id = JSON.stringify(reports[project])
  if (field.name === 'host') values.id = JSON.stringify(hostId)
  if (field.name === 'job') values.id = '"j"'
  if (field.name === 'node') values.id = JSON.stringify(Buffer.from(`Batch:of ${project}`).toString('base64'))
  const args = field.args.filter(isRequiredArgument).map(({ name }) => `${name}: ${values[name]}`)
  return `${field.name}${args.length === 0 ? '' : `(${args.join(', ')})`}${selection(field, 2)}`
}

function selection(field: GraphQLField<unknown, unknown>, levels: number): string {
  const type = getNamedType(field.type)
  if (isLeafType(type)) return ''
  const parts = fieldsOf(type.name)
    .filter((part) => !part.args.some(isRequiredArgument))
    .filter(
      (part) =>
        isLeafType(getNamedType(part.type)) || (levels > 0 && ['edges', 'node', 'user'].includes(part.name)),
    )
  return ` { ${parts.map((part) => `${part.name}${selection(part, levels - 1)}`).join(' ')} }`
}

/** A query path to an object of the type. */
const WAYS: Record<string, (project: string) => { path: string[]; open: string }> = {
  Query: () => ({ path: [], open: '' }),
  Project: (project) => ({ path: ['project'], open: `project(slug: "${project}")` }),
  Batch: (project) => ({ path: ['batch'], open: `batch(id: "of ${project}")` }),
  Job: (project) => ({ path: ['job'], open: `job(batchId: "of ${project}", id: "j")` }),
}

function expected(rule: Rule, project: string, caller: string): 'shown' | 'null' {
  const reads = project === 'open' || IN_PROJECT.includes(caller)
  switch (rule) {
    case 'everyone':
      return 'shown'
    case 'known':
      return caller === 'none' ? 'null' : 'shown'
    case 'reader':
      return reads ? 'shown' : 'null'
    case 'inProject':
      // A read token reads; whose addresses it may know is its user's to know.
      return IN_PROJECT.includes(caller) ? 'shown' : 'null'
    case 'sharer':
    case 'stopper':
      return SHARERS.includes(caller) ? 'shown' : 'null'
    case 'keeper':
      return ['owner', 'admin'].includes(caller) ? 'shown' : 'null'
    case 'hostOwner':
      return ['batchOwner', 'admin'].includes(caller) ? 'shown' : 'null'
    case 'admin':
      return caller === 'admin' ? 'shown' : 'null'
  }
}

describe.each([...ACCESS].filter(([name]) => !name.startsWith('Subscription')))('%s (%s)', (name, rule) => {
  const [type = '', fieldName] = name.split('.')
  const field = fieldsOf(type).find((one) => one.name === fieldName)
  const way = WAYS[type]

  test.each(['vision', 'open'])('in %s', async (project) => {
    if (field === undefined || way === undefined) throw new Error(`there is no way to ${name}`)
    const { path, open } = way(project)
    const query = open === '' ? `{ ${asked(field, project)} }` : `{ ${open} { ${asked(field, project)} } }`
    const seen: Record<string, string> = {}
    const wanted: Record<string, string> = {}
    for (const caller of CALLERS) {
      const token = tokens[caller]
      const { status, body } = await post(stage.app, query, token === undefined ? {} : { token })
      if (status !== 200 || body.errors !== undefined)
        throw new Error(`${caller}: ${status} ${JSON.stringify(body)}`)
      const parent = path.reduce((at, step) => at?.[step], body.data)
      const value = parent?.[field.name]
      wanted[caller] = expected(rule, project, caller)
      // A nullable value counts as shown if its parent is shown.
      const plain = rule === 'reader' && parent != null && type !== 'Query'
      seen[caller] = value != null || (plain && value === null) ? 'shown' : 'null'
    }
    expect(seen).toEqual(wanted)
  })
})

describe('lists contain what the caller can read', () => {
  test.each(CALLERS)('as %s', async (caller) => {
    const token = tokens[caller]
    const query =
      '{ projects { totalCount edges { node { slug } } } batches { totalCount edges { node { id } } } dashboard { running } }'
    const { projects, batches, dashboard } = await ask(stage.app, query, token === undefined ? {} : { token })
    const both = IN_PROJECT.includes(caller)
    const counts = { projects: projects.totalCount, batches: batches.totalCount, running: dashboard.running }
    expect(counts).toEqual(
      both ? { projects: 2, batches: 2, running: 2 } : { projects: 1, batches: 1, running: 1 },
    )
    expect(projects.edges).toHaveLength(counts.projects)
    expect(batches.edges).toHaveLength(counts.batches)
  })
})

describe('tokens that may only send events', () => {
  test('are refused as a whole', async () => {
    const { status, body } = await post(stage.app, '{ viewer { id } }', { token: stage.viewer.reporter })
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'forbidden' })
  })
  test('and an invalid token is 401', async () => {
    const { status, body } = await post(stage.app, '{ viewer { id } }', { token: 'em_read_nothing' })
    expect({ status, code: body.code }).toEqual({ status: 401, code: 'unauthenticated' })
  })
})

describe('a share', () => {
  const opened = (kind: 'open' | 'anonymous', inner: string) =>
    `{ sharedBatch(token: "${shares[kind]}") { ${inner} } }`

  test('opens its batch to anyone for reading only', async () => {
    const query = opened(
      'open',
      'id host owner { name } can { stop rerun delete share edit } logLines { totalCount } shares { id }',
    )
    for (const token of [undefined, stage.stranger.token, stage.owner.token]) {
      const { sharedBatch } = await ask(stage.app, query, token === undefined ? {} : { token })
      expect(sharedBatch).toMatchObject({
        id: 'of vision',
        host: 'box1',
        owner: { name: 'batch-owner' },
        shares: null,
      })
      expect(sharedBatch.can).toEqual({ stop: false, rerun: false, delete: false, share: false, edit: false })
      expect(sharedBatch.logLines.totalCount).toBe(1)
    }
  })

  test('shows the slug of the project and nothing else outside of the batch', async () => {
    const project = `project { slug displayName visibility createdAt owner { name } role members { email } recipients
      batches { edges { node { id } } } jobs { edges { node { jobId } } } }`
    const { sharedBatch } = await ask(stage.app, opened('open', project), { token: stage.stranger.token })
    expect(sharedBatch.project).toEqual({
      slug: 'vision',
      displayName: 'vision',
      visibility: 'PRIVATE',
      createdAt: null,
      owner: null,
      role: null,
      members: null,
      recipients: null,
      batches: null,
      jobs: null,
    })
  })

  test.each([
    ...fieldsOf('Batch').map((field) => ['Batch', field] as const),
    ...fieldsOf('Job').map((field) => ['Job', field] as const),
  ])('that is anonymous hides users, hosts and log lines: %s $name', async (type, field) => {
    const inner = asked(field, 'vision')
    const query = opened('anonymous', type === 'Batch' ? inner : `jobs { edges { node { ${inner} } } }`)
    const { status, body } = await post(stage.app, query)
    expect(status).toBe(200)
    expect(body.errors).toBeUndefined()
    for (const secret of SECRETS) expect(JSON.stringify(body)).not.toContain(secret)
  })

  test('that is anonymous reveals nothing through comparisons either', async () => {
    const count = async (where: string) =>
      (await ask(stage.app, opened('anonymous', `jobs(where: ${where}) { totalCount }`))).sharedBatch.jobs
        .totalCount
    expect(await count('{ params: [{ key: "data_dir", op: EQ, text: "/home/kim/data" }] }')).toBe(0)
    expect(await count('{ params: [{ key: "data_dir", op: GT, text: "" }] }')).toBe(0)
    expect(await count('{ model: "m" }')).toBe(0)
    expect(await count('{ q: "m" }')).toBe(0)
    expect(await count('{ q: "J" }')).toBe(1)
  })

  test('opens nothing once it is revoked, and neither does any other token', async () => {
    const made = await stage.app.call('POST', '/api/batches/of%20vision/shares', {
      token: stage.owner.token,
      body: {},
    })
    const query = `{ sharedBatch(token: "${made.body.token}") { id } }`
    expect(await ask(stage.app, query)).toEqual({ sharedBatch: { id: 'of vision' } })
    await stage.app.call('DELETE', `/api/shares/${made.body.id}`, { token: stage.owner.token })
    expect(await ask(stage.app, query)).toEqual({ sharedBatch: null })
    expect(await ask(stage.app, '{ sharedBatch(token: "made up") { id } }')).toEqual({ sharedBatch: null })
  })

  test('is listed without its token, for users who may create one', async () => {
    const query =
      '{ batch(id: "of vision") { shares { id anonymous createdBy { name } createdAt expiresAt } } }'
    const { batch } = await ask(stage.app, query, { token: stage.batchOwner.token })
    expect(batch.shares).toHaveLength(2)
    expect(batch.shares[0]).toMatchObject({ createdBy: { name: 'batch-owner' }, expiresAt: null })
  })
})
