import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildWheels } from '../../scripts/wheels.mjs'
import { PASSWORD } from '../kit/app.ts'
import { buildPage } from '../web/built-page.ts'
import { batchesFor, CALLERS, type CallerName, MATRIX, type Row, type SceneBatch } from './access-matrix.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  buildWheels()
  await buildPage()
  stage = await openStage()
})
afterAll(() => stage?.stop())

test('every route of the server has a row in the matrix, and every row has a route', () => {
  const live = stage.app.app.routeList.map(({ method, url }) => `${method} ${url}`)
  expect(new Set(MATRIX.map((row) => row.route))).toEqual(new Set(live))
})

/** Of the batch's owner. */
let agentToken: string
beforeAll(async () => {
  const body = { hostname: 'of-the-matrix', capabilities: {}, version: '1' }
  const made = await stage.app.call('POST', '/api/agents/register', { token: stage.batchOwner.token, body })
  agentToken = made.body.agent_token
})

let calls = 0
async function credentialOf(
  caller: CallerName,
  { ownSession, ownAccount }: Pick<Row, 'ownSession' | 'ownAccount'>,
): Promise<string | undefined> {
  switch (caller) {
    case 'none':
      return undefined
    case 'bad':
      return 'em_live_not-a-token'
    case 'agent':
      return agentToken
    case 'reporter':
    case 'read':
      return stage.batchOwner[caller]
    default: {
      if (ownAccount === true) return (await stage.app.register()).token
      const person = stage[caller]
      if (ownSession !== true) return person.token
      const body = { email: person.email, password: PASSWORD }
      return (await stage.app.call('POST', '/api/auth/login', { body })).body.token
    }
  }
}

describe.each(MATRIX)('$route ($project)', (row) => {
  test('answers each caller as declared', async () => {
    const expected = row.answers.split(' ').map(Number)
    expect(expected).toHaveLength(CALLERS.length)
    const callers = [...CALLERS, 'agent'] as const
    const batches = await batchesFor(stage, row, callers.length)
    const ask = async (caller: CallerName, batch: SceneBatch) => {
      const scene = { stage, caller, batch, n: ++calls }
      const [method, url] = row.route.split(' ') as [string, string]
      const path = row.path === undefined ? url : await row.path(scene)
      const token = await credentialOf(caller, row)
      const answer = await stage.app.call(method, path, {
        ...(token === undefined ? {} : { token }),
        ...(row.body === undefined ? {} : { body: row.body(scene) }),
      })
      if (answer.status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
      if (answer.status >= 400)
        expect(answer.body).toMatchObject({ status: answer.status, code: expect.any(String) })
      expect(answer.headers['x-request-id']).toEqual(expect.any(String))
      return answer.status
    }
    const got: Record<string, number> = {}
    let before: Promise<unknown> = Promise.resolve()
    await Promise.all(
      callers.map(async (caller, i) => {
        const batch = batches[i] as SceneBatch
        const mine = row.oneByOne ? before.then(() => ask(caller, batch)) : ask(caller, batch)
        before = mine
        got[caller] = await mine
      }),
    )
    const wanted = Object.fromEntries(CALLERS.map((caller, i) => [caller, expected[i]]))
    expect(got).toEqual({ ...wanted, agent: row.agent ?? wanted.reporter })
  })
})

/**
 * They have no query parameters that are checked: probes, pages, bodies that ingest checks itself, what identity
 * providers add of their own; and agents are asked with their own credential (test/agents).
 */
const WITHOUT_QUERY =
  /^(?!.* \/api\/)|\/api\/(openapi\.json|docs|mail\.css|events|oauth\/:idp\/callback|agents\/:id)/

/** Routes that only tokens of senders may use. */
const SENT = /^POST \/api\/batches\/:id\/files|\/api\/uploads/

describe.each(MATRIX.filter((row) => !WITHOUT_QUERY.test(row.route)))('$route ($project)', (row) => {
  test('refuses an unknown query parameter and names it', async () => {
    const [batch] = await batchesFor(stage, row, 1)
    const scene = { stage, caller: 'admin' as const, batch: batch as SceneBatch, n: ++calls }
    const [method, url] = row.route.split(' ') as [string, string]
    const path = row.path === undefined ? url : await row.path(scene)
    const answer = await stage.app.call(method, `${path}${path.includes('?') ? '&' : '?'}mistyped=1`, {
      token: SENT.test(row.route) ? stage.batchOwner.reporter : stage.admin.token,
      ...(row.body === undefined ? {} : { body: row.body(scene) }),
    })
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_query'])
    expect(answer.body.errors).toMatchObject([{ path: 'mistyped' }])
  })
})
