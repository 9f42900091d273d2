import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openStage, type Stage } from '../http/stage.ts'
import { ask, nodesOf, post } from './asking.ts'

// Reports, saved views and firings of rules: the same values and rights as in REST.

let stage: Stage
const CALLERS = ['none', 'stranger', 'viewer', 'member', 'owner', 'admin'] as const
type Who = (typeof CALLERS)[number]
const as = (who: Who) => (who === 'none' ? {} : { token: stage[who].token })
const must = async (who: Who, method: string, path: string, body?: unknown) => {
  const answer = await stage.app.call(method, path, { ...as(who), ...(body !== undefined && { body }) })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
const camel = (row: object) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )

beforeAll(async () => {
  stage = await openStage()
  for (const [n, project] of ['vision', 'open', 'vision'].entries()) {
    const report = await must('owner', 'POST', '/api/reports', {
      title: `Report ${n}`,
      project,
      body: `Text ${n}`,
    })
    if (n === 0) await must('owner', 'POST', `/api/reports/${report.id}/links`)
    const view = { title: `View ${n}`, path: `/p/${project}`, project }
    await must('owner', 'POST', '/api/views', { ...view, audience: n === 2 ? 'private' : 'project' })
  }
  await must('stranger', 'POST', '/api/views', { title: 'Mine', path: '/compare?batch=a', colors: { j: 3 } })
  for (const name of ['a', 'b'])
    await must('owner', 'POST', '/api/projects/vision/rules', {
      name,
      trigger: 'batch_done',
      recipients: ['team@example.org', 'else@example.org'],
    })
})
afterAll(() => stage?.stop())

const REPORT = 'id title body project owner { id name } canEdit canShare shared createdAt updatedAt'
const VIEW = 'id title path project audience colors owner { id name } canEdit createdAt updatedAt'

test.each(CALLERS)('reports and views are those of REST: %s', async (who) => {
  const query = `{ reports { totalCount edges { node { ${REPORT} } } } savedViews { totalCount edges { node { ${VIEW} } } } }`
  const { reports, savedViews } = await ask(stage.app, query, as(who))
  const listed = (await must(who, 'GET', '/api/reports')).items
  const whole = await Promise.all(
    listed.map((one: { id: string }) => must(who, 'GET', `/api/reports/${one.id}`)),
  )
  expect(nodesOf(reports)).toEqual(whole.map(camel))
  expect(reports.totalCount).toBe(whole.length)
  const views = (await must(who, 'GET', '/api/views')).items
  expect(nodesOf(savedViews)).toEqual(views.map(camel))
  expect(savedViews.totalCount).toBe(views.length)
  for (const { id } of whole) {
    const { report } = await ask(stage.app, `{ report(id: "${id}") { title } }`, as(who))
    expect(report).not.toBeNull()
  }
})

test('both lists are read in pages and by project', async () => {
  for (const list of ['reports', 'savedViews']) {
    const page = (args: string) =>
      `{ ${list}(${args}) { totalCount pageInfo { hasNextPage endCursor } edges { node { id title } } } }`
    const one = (await ask(stage.app, page('first: 1'), as('owner')))[list]
    const after = JSON.stringify(one.pageInfo.endCursor)
    const rest = (await ask(stage.app, page(`first: 2, after: ${after}`), as('owner')))[list]
    expect(
      [...nodesOf(one), ...nodesOf(rest)].map(({ title }: { title: string }) => title.slice(-1)),
    ).toEqual(['2', '1', '0'])
    expect([one.pageInfo.hasNextPage, rest.pageInfo.hasNextPage, one.totalCount]).toEqual([true, false, 3])
    const named = (await ask(stage.app, page('project: "open"'), as('owner')))[list]
    expect(nodesOf(named)).toHaveLength(1)
    expect((await ask(stage.app, page('project: "vision"')))[list]).toMatchObject({
      totalCount: 0,
      edges: [],
    })
    const wrong = await post(stage.app, page('first: 1, after: "made up"'), as('owner'))
    expect(wrong.body.errors[0].extensions.code).toBe('invalid_cursor')
  }
})

test('firings have the messages of REST, page by page, for those who administer the project', async () => {
  const rules: { id: string }[] = (await must('owner', 'GET', '/api/projects/vision/rules')).items
  for (const { id } of rules) for (let n = 0; n < 2; n++) await must('owner', 'POST', `/api/rules/${id}/test`)
  const query = (args: string) => `{ project(slug: "vision") { rules { items { id firings(${args}) {
    totalCount pageInfo { hasNextPage endCursor } edges { node { id trigger batchId happenedAt firedAt outcome messages {
      id kind channelId target subject batchId test state attempts status body error createdAt lastAttemptAt nextAttemptAt
  } } } } } } } }`
  // Mail is sent in the background, so a message may change between both reads.
  await vi.waitFor(
    async () => {
      const { project } = await ask(stage.app, query('first: 5'), as('owner'))
      for (const { id, firings } of project.rules.items) {
        expect(firings.totalCount).toBe(2)
        const shown = (await must('owner', 'GET', `/api/rules/${id}/deliveries`)).items
        expect(shown.length).toBeGreaterThan(0)
        const messages = nodesOf(firings).flatMap((one: { messages: object[] }) => one.messages)
        expect(messages).toEqual(shown.map(camel))
        expect(nodesOf(firings)[0]).toMatchObject({ trigger: null, batchId: null, outcome: 'mail' })
      }
    },
    { timeout: 20_000, interval: 100 },
  )
  const first = (await ask(stage.app, query('first: 1'), as('owner'))).project.rules.items[0]
  expect(first.firings.pageInfo.hasNextPage).toBe(true)
  const after = JSON.stringify(first.firings.pageInfo.endCursor)
  const next = (await ask(stage.app, query(`first: 1, after: ${after}`), as('owner'))).project.rules.items[0]
  expect(next.firings.pageInfo.hasNextPage).toBe(false)
  expect(nodesOf(next.firings)[0].id).not.toBe(nodesOf(first.firings)[0].id)
  for (const who of ['viewer', 'member'] as const)
    expect((await ask(stage.app, query('first: 1'), as(who))).project.rules).toBeNull()
})

test('the documented query for reports, views and messages works', async () => {
  const text = await readFile(new URL('../../docs/api.md', import.meta.url), 'utf8')
  const query = /<!-- example: reports and messages -->\n```graphql\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
  const variables = { project: 'vision' }
  const read = () => ask(stage.app, query, { ...as('owner'), variables })
  const { reports, savedViews, project } = await read()
  expect(nodesOf(reports)).toMatchObject([
    { title: 'Report 2', body: 'Text 2' },
    { title: 'Report 0', body: 'Text 0' },
  ])
  expect(nodesOf(savedViews)).toMatchObject([
    { title: 'View 2', audience: 'private' },
    { title: 'View 0', audience: 'project' },
  ])
  expect(project.rules.items.map(({ name }: { name: string }) => name)).toEqual(['b', 'a'])
  const rules: { id: string }[] = (await must('owner', 'GET', '/api/projects/vision/rules')).items
  await must('owner', 'POST', `/api/rules/${rules[0]?.id}/test`)
  await vi.waitFor(
    async () => {
      const [firing] = nodesOf((await read()).project.rules.items[0].firings)
      expect(firing.messages.map(({ target }: { target: string }) => target).toSorted()).toEqual([
        'else@example.org',
        'team@example.org',
      ])
    },
    { timeout: 20_000, interval: 100 },
  )
})
