import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { buildPage } from './built-page.ts'

let app: TestApp
beforeAll(async () => {
  await buildPage()
  app = await startTestApp()
}, 120_000)
afterAll(() => app?.stop())

const html = { headers: { accept: 'text/html,application/xhtml+xml' } }

test('every address of the page answers with the page under the strict policy, never cached unasked', async () => {
  for (const path of ['/', '/sign-in', '/p/vision', '/b/some%2Fid/jobs', '/s/token']) {
    const answer = await app.call('GET', path, html)
    expect([path, answer.status], path).toEqual([path, 200])
    expect(answer.body).toContain('<div id="root">')
    expect(answer.headers['content-security-policy']).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    )
    expect(answer.headers['cache-control']).toBe('no-cache')
  }
})

test('files of the page are kept for a year under their hashed names, and have their types', async () => {
  const { body } = await app.call('GET', '/', html)
  const [script] = /\/assets\/[\w-]+\.js/.exec(body) as RegExpExecArray
  const [style] = /\/assets\/[\w-]+\.css/.exec(body) as RegExpExecArray
  const answers = [await app.call('GET', script), await app.call('GET', style)]
  expect(answers.map((one) => [one.status, one.headers['cache-control']])).toEqual([
    [200, 'public, max-age=31536000, immutable'],
    [200, 'public, max-age=31536000, immutable'],
  ])
  expect(answers[0]?.headers['content-type']).toMatch(/javascript/)
  expect((await app.call('GET', '/favicon.svg')).headers['content-type']).toMatch(/svg/)
})

test('what is not a page is not answered with one', async () => {
  for (const path of [
    '/api/nothing',
    '/api',
    '/graphql/x',
    '/livez/x',
    '/readyz/x',
    '/metrics/x',
    '/assets/gone.js',
    '/gone.svg',
  ]) {
    const answer = await app.call('GET', path, html)
    expect([path, answer.status, answer.headers['content-type']]).toEqual([
      path,
      404,
      'application/problem+json; charset=utf-8',
    ])
  }
  expect((await app.call('GET', '/p/vision')).status).toBe(404)
  expect((await app.call('POST', '/p/vision', html)).status).toBe(404)
})

test('no path leads out of the folder of the page', async () => {
  for (const path of [
    '/assets/../../../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/..%2fpackage.json',
  ]) {
    const answer = await app.call('GET', path)
    expect(answer.status, path).toBe(404)
  }
})
