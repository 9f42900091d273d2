import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { freshDatabase } from '../kit/database.ts'

let app: TestApp
let token: string
let reporter: string
beforeAll(async () => {
  app = await startTestApp()
  ;({ token } = await app.register())
  reporter = await app.reporterToken(token)
})
afterAll(() => app?.stop())

const create = (slug: string, as = token) => app.call('POST', '/api/projects', { token: as, body: { slug } })
const send = (project: string, as = reporter) =>
  app.call('POST', '/api/events', {
    token: as,
    body: makeEvent('batch_start', { batch_id: `run of ${project}`, source: { project } }),
  })
const told = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

test('a new project has a name of 1 to 128 letters, digits, dots, underscores and hyphens; others are 422', async () => {
  for (const slug of ['vision', 'Rob-0t_v1.2', 'x'.repeat(128)]) expect((await create(slug)).status).toBe(201)
  for (const slug of [
    '',
    'My Project',
    'größe',
    'проект',
    'a/b',
    'x'.repeat(129),
    '.',
    '..',
    'a\u0000',
    '🚀',
  ]) {
    expect(told(await create(slug)), slug).toEqual([422, 'invalid_project_name'])
  }
  const { body } = await create('Größe der Äpfel')
  expect(body.detail).toContain('for example "Gro-e-der-Apfel"')
  expect(body.errors).toEqual([{ path: 'slug', message: expect.stringContaining('1 to 128 letters') }])
})

test('an event that would create a project of another name is 422, and nothing is stored', async () => {
  const answer = await send('My Project')
  expect(told(answer)).toEqual([422, 'invalid_project_name'])
  expect(answer.body.detail).toContain('for example "My-Project"')
  expect(answer.body.errors[0].path).toBe('source.project')
  const [row] = await app.sql`select count(*)::int n from events where payload::text like '%My Project%'`
  expect(row?.n).toBe(0)
})

test('a name is stored in its NFKC form, and found by events under it', async () => {
  const made = await create('\uff4e\uff4c\uff50')
  expect([made.status, made.body.slug]).toEqual([201, 'nlp'])
  expect((await send('\uff4e\uff4c\uff50')).status).toBe(200)
  const { body } = await app.call('GET', '/api/batches?project=nlp', { token })
  expect(body.items).toHaveLength(1)
})

test('names that differ only in case or in look-alike characters are the same name', async () => {
  expect((await create('Modem-Oil10')).status).toBe(201)
  for (const slug of ['modem-oil10', 'MODEM-OIL10', 'Modern-Oil10', 'Modem-0il10', 'Modem-OiI1O']) {
    expect(told(await create(slug)), slug).toEqual([409, 'project_exists'])
    const answer = await send(slug)
    expect(told(answer), slug).toEqual([409, 'project_exists'])
    expect(answer.body.detail).toContain('"Modem-Oil10"')
  }
  const stranger = await app.register()
  const theirs = await app.reporterToken(stranger.token)
  const hidden = await send('modem-oil10', theirs)
  expect(told(hidden)).toEqual([409, 'project_exists'])
  expect(JSON.stringify(hidden.body)).not.toContain('Modem-Oil10')
})

test('of two concurrent events with look-alike project names one creates its project, and the other is refused', async () => {
  const [a, b] = await Promise.all([send('Twin-l'), send('twin-I')])
  expect([a.status, b.status].sort()).toEqual([200, 409])
})

test('older projects keep working, accept events, and their look-alikes are refused', async () => {
  const database = await freshDatabase()
  const first = await startTestApp({ databaseUrl: database.url })
  const ada = await first.register()
  const odd = ['My Project', 'vіsion', 'Vision', 'vision', '\uff4f\uff4c\uff44']
  for (const slug of odd) {
    await database.sql`insert into projects (slug, display_name, owner_id) values (${slug}, ${slug}, ${ada.user.id})`
  }
  await first.stop()
  const second = await startTestApp({ databaseUrl: database.url })
  try {
    const own = await second.reporterToken(ada.token)
    for (const project of odd) {
      const body = makeEvent('batch_start', { batch_id: `b ${project}`, source: { project } })
      expect((await second.call('POST', '/api/events', { token: own, body })).status, project).toBe(200)
      const path = `/api/projects/${encodeURIComponent(project)}`
      expect((await second.call('GET', path, { token: ada.token })).body.slug).toBe(project)
    }
    const body = { slug: 'VISION' }
    const refused = await second.call('POST', '/api/projects', { token: ada.token, body })
    expect(told(refused)).toEqual([409, 'project_exists'])
  } finally {
    await second.stop()
    await database.drop()
  }
})

test('project= and owner= match exactly, with case, and not by names that any user can choose', async () => {
  const ada = await app.register('ada@example.org')
  const own = await app.reporterToken(ada.token)
  expect((await send('Exact', own)).status).toBe(200)
  const found = async (query: string) =>
    (await app.call('GET', `/api/batches?${query}`, { token: ada.token })).body.items.length
  expect(await found('project=Exact')).toBe(1)
  expect(await found('project=exact')).toBe(0)
  expect(await found(`owner=${ada.user.id}`)).toBe(1)
  expect(await found('owner=ada@example.org')).toBe(1)
  expect(await found('owner=ada')).toBe(0)
})
