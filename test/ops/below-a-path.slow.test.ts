import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { freePort } from '../kit/free-port.ts'
import { installed, type RunningProxy, runApache, runCaddy, runHaproxy, runNginx } from '../kit/proxy.ts'
import { buildPage } from '../web/built-page.ts'
import { visit } from '../web/visit.ts'

// A service below a path of its host (SVC_PUBLIC_URL with a path), behind an nginx that passes the path on and a Caddy
// that removes it; where they are installed, also behind an HAProxy and an Apache that remove it.

const PATH = '/monitor'
const root = memoryFolder('svc-below-').path
const apps: TestApp[] = []
const proxies: RunningProxy[] = []
beforeAll(buildPage)
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()))
  await Promise.all(apps.map((app) => app.stop()))
  rmSync(root, { recursive: true, force: true })
})

const kinds = {
  nginx: (target: string, port: number, folder: string) =>
    runNginx(
      `server {
  listen 127.0.0.1:${port};
  location ${PATH}/ { proxy_pass ${target}; proxy_http_version 1.1; proxy_set_header Host $host:$server_port; proxy_buffering off; }
}`,
      port,
      folder,
    ),
  caddy: (target: string, port: number, folder: string) =>
    runCaddy(
      `http://127.0.0.1:${port} {\n  handle_path ${PATH}/* {\n    reverse_proxy ${target}\n  }\n}`,
      port,
      folder,
    ),
  haproxy: (target: string, port: number, folder: string) =>
    runHaproxy(
      installed('haproxy') ?? '',
      `defaults
  mode http
  timeout connect 2s
  timeout client 75s
  timeout server 75s
frontend lab
  bind 127.0.0.1:${port}
  http-request replace-path ${PATH}/(.*) /\\1
  default_backend svc
backend svc
  server svc ${new URL(target).host}`,
      port,
      folder,
    ),
  apache2: (target: string, port: number, folder: string) =>
    runApache(
      installed('apache2') ?? '',
      `<VirtualHost 127.0.0.1:${port}>
  AllowEncodedSlashes NoDecode
  ProxyPreserveHost On
  ProxyPass ${PATH}/ ${target}/ nocanon flushpackets=on
</VirtualHost>`,
      port,
      folder,
    ),
}
const others = (['haproxy', 'apache2'] as const).filter((name) => installed(name) !== undefined)

test.each([
  'nginx',
  'caddy',
  ...others,
] as const)('behind %s page, stream, docs, GraphiQL, Swagger and packages are below the path', async (kind) => {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}${PATH}`
  const app = await startTestApp({ publicUrl, basePath: PATH })
  apps.push(app)
  const folder = join(root, kind)
  mkdirSync(folder)
  const proxy = await kinds[kind](app.address, port, folder)
  proxies.push(proxy)
  const ada = await app.register('ada@example.org')
  const token = await app.reporterToken(ada.token)
  const send = async (...events: unknown[]): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${publicUrl}/api/events/batch`, {
      method: 'POST',
      headers,
      body: JSON.stringify(events),
    })
    expect(answer.status).toBe(200)
  }
  const of = (
    event: Parameters<typeof makeEvent>[0],
    data: Record<string, unknown> = {},
    job_id: string | null = 'a',
  ) => makeEvent(event, { batch_id: 'below', job_id, data })
  await send(of('batch_start', {}, null), of('job_start'), of('job_epoch', { epoch: 0, train_loss: 3 }))

  const { page, complaints } = await visit(await openBrowser(), { address: proxy.address })
  const outside: string[] = []
  page.on('request', (request) => {
    const { pathname, host, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && (!pathname.startsWith(`${PATH}/`) || host !== `127.0.0.1:${port}`))
      outside.push(request.url())
  })
  // A link to a batch leads through the sign-in back to it.
  await page.goto(`${PATH}/b/below`)
  await page.getByRole('link', { name: 'Sign in to see it' }).click()
  await page.getByLabel('E-mail address').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'below' }).waitFor()
  expect(new URL(page.url()).pathname).toBe(`${PATH}/b/below`)
  expect(await page.context().cookies()).toEqual([
    expect.objectContaining({ name: 'svc_session', path: `${PATH}/` }),
  ])
  await page.locator('canvas').first().waitFor()
  // What happens now comes by the stream.
  await send(of('batch_start', { name: 'arrived' }, null), of('job_start', {}, 'second'))
  await page.getByText('second', { exact: true }).first().waitFor()

  // Rows are plain links that the page follows by itself.
  await page.goto(
    `${PATH}/p/${(await app.call('GET', '/api/projects', { token: ada.token })).body.items[0].slug}`,
  )
  await page.locator('a[href$="/b/below"]').first().click()
  await page.waitForURL(`**${PATH}/b/below`)
  await page.reload()
  await page.getByRole('heading').first().waitFor()

  await page.goto(`${PATH}/docs/`)
  await page.locator('a[href*="install"]').first().click()
  await page.waitForURL(`**${PATH}/docs/install*`)
  await page.goto(`${PATH}/api/docs`)
  await page.locator('.opblock-tag').first().waitFor()
  expect(await page.locator('.servers select').first().inputValue()).toBe(PATH)
  await page.goto(`${PATH}/graphql`)
  await page.locator('.graphiql-query-editor .CodeMirror-code', { hasText: 'query Best' }).waitFor()
  await page.getByRole('button', { name: 'Execute query' }).click()
  await expect.poll(() => page.locator('.result-window').textContent()).toContain('below')
  expect(outside).toEqual([])
  expect(complaints).toEqual([])

  const index = await fetch(`${publicUrl}/pip/simple/svc-reporter`)
  expect(index.url).toBe(`${publicUrl}/pip/simple/svc-reporter/`)
  const [, wheel = ''] = /href="([^"#]+)/.exec(await index.text()) ?? []
  expect((await fetch(new URL(wheel, index.url))).status).toBe(200)
  for (const probe of ['/livez', '/readyz']) expect((await fetch(publicUrl + probe)).status).toBe(200)
}, 120_000)
