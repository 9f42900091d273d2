import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiDocument } from '../../src/http/docs/openapi-parts.ts'
import {
  EVERYWHERE,
  IN_ADDRESSES,
  OUTSIDE_REST,
  ROUTES_WITH_OWN_REFUSALS,
} from '../../src/http/server/refusals.ts'
import { PROBLEMS } from '../../src/problem.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
let document: ApiDocument
beforeAll(async () => {
  app = await startTestApp()
  document = (await app.call('GET', '/api/openapi.json')).body
})
afterAll(() => app.stop())

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  )

test('the document is OpenAPI 3.1, has unique operation ids, and declares all path parameters', () => {
  expect(document.openapi).toMatch(/^3\.1\./)
  const ids = operations().map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { route, path, operation } of operations()) {
    const declared = (operation.parameters ?? []).filter((p) => p.in === 'path')
    expect(declared.map((p) => `{${p.name}}`).sort(), route).toEqual((path.match(/\{\w+\}/g) ?? []).sort())
    expect(operation.summary, route).toMatch(/^\S/)
    expect(
      Object.keys(operation.responses).some((status) => /^[23]/.test(status)) || path === '/metrics',
      route,
    ).toBe(true)
  }
})

test('every $ref of the document has a schema, and every schema is used', () => {
  const referred = new Set(JSON.stringify(document).match(/#\/components\/schemas\/\w+/g))
  const shapes = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
  expect([...referred].sort()).toEqual(shapes.filter((shape) => referred.has(shape)).sort())
  expect(shapes).toContain('#/components/schemas/Batch')
})

test('every error code is documented: with its route, for all routes, or for another transport', () => {
  const told = new Set<string>([...EVERYWHERE, ...OUTSIDE_REST, ...IN_ADDRESSES])
  for (const { operation } of operations()) {
    for (const { description, content } of Object.values(operation.responses)) {
      if (content?.['application/problem+json'] === undefined) continue
      for (const [, code] of description.matchAll(/`(\w+)`/g)) told.add(code as string)
    }
  }
  expect(Object.keys(PROBLEMS).filter((code) => !told.has(code))).toEqual([])
})

test('every route in the table of error codes exists', () => {
  const routes = new Set(operations().map(({ route }) => route))
  expect(ROUTES_WITH_OWN_REFUSALS.filter((route) => !routes.has(route))).toEqual([])
})

test('an error that a route answers with is in its documentation', async () => {
  const answer = await app.call('GET', '/api/batches/none')
  expect(answer.status).toBe(404)
  expect(document.paths['/api/batches/{id}']?.get?.responses['404']?.description).toContain(answer.body.code)
})

test('a page has a content security policy that allows this origin only', async () => {
  const { headers } = await app.call('GET', '/api/docs')
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
      "media-src 'self'; frame-src 'self'; connect-src 'self'; font-src 'self'; worker-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  )
  expect(headers).toMatchObject({
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
  })
  const refused = await app.call('GET', '/api/batches/none')
  expect(refused.headers['x-content-type-options']).toBe('nosniff')
})
