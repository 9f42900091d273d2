import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser } from '@playwright/test'
import fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildDocs } from '../../scripts/docs.mjs'
import { docsHash } from '../../scripts/fingerprint.mjs'
import { documentationRoutes } from '../../src/http/docs/documentation.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { seriousFindings, visit } from '../web/visit.ts'

const ROOT = join(import.meta.dirname, '../..')

let app: TestApp
let browser: Browser
let built: ReturnType<typeof buildDocs>
let scratch: string
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-docs-'))
  built = buildDocs()
  app = await startTestApp()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const text = (place: string): string => readFileSync(join(ROOT, 'dist/docs', place), 'utf8')

test('every link and image of the documentation has a target, sections included', () => {
  expect(built.problems).toEqual([])
  expect(built.pages.length).toBeGreaterThan(30)
})

test('every page below docs/ is in the navigation, once', () => {
  const written = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
  const shown = built.pages.map(({ file }) => file).filter((file) => file.startsWith('docs/'))
  expect(shown.sort()).toEqual(written.sort())
})

test('two builds give the same bytes, and a build records the hash of its sources', async () => {
  const other = join(scratch, 'again')
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/docs.mjs'), '--out', other])
  const files = readdirSync(other, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(other.length + 1))
  expect(files.length).toBeGreaterThan(40)
  for (const file of files)
    expect(readFileSync(join(other, file)).equals(readFileSync(join(ROOT, 'dist/docs', file))), file).toBe(
      true,
    )
  expect(text('.build-hash')).toBe(docsHash())
})

test('the reference of events has each type of the schema with the fields of its data', () => {
  const page = text('reference/events.html')
  const schema = JSON.parse(readFileSync(join(ROOT, 'schemas/event_v1.json'), 'utf8'))
  for (const { properties } of schema.anyOf) {
    expect(page).toContain(`<h3 id="${properties.event_type.const}">`)
    for (const name of Object.keys(properties.data.properties ?? {}))
      expect(page).toContain(`<code>${name}</code>`)
  }
})

test('the service answers every page and file of the site to anyone, each link of a page included', async () => {
  const moved = await app.call('GET', '/docs')
  expect([moved.status, moved.headers.location]).toEqual([308, 'docs/'])
  const links = new Set(['/docs/', '/docs/search.json', '/docs/minisearch.js', '/docs/install'])
  for (const { place } of built.pages) {
    links.add(`/docs/${place}`)
    for (const [, target] of text(place).matchAll(/(?:href|src)="([^"]+)"/g)) {
      const at = new URL((target as string).replaceAll('&amp;', '&'), `http://svc/docs/${place}`)
      // The page of the service is built apart.
      if (at.host === 'svc' && at.pathname !== '/') links.add(at.pathname)
    }
  }
  const types: Record<string, RegExp> = { css: /^text\/css/, js: /^text\/javascript/, png: /^image\/png/ }
  for (const link of links) {
    const answer = await app.call('GET', link, { headers: { accept: 'text/html, */*' } })
    // The schema of GraphQL is shown to people who are signed in.
    expect([link, answer.status]).toEqual([link, link === '/graphql' ? 401 : 200])
    const type = types[/\.(\w+)$/.exec(link)?.[1] ?? ''] ?? /html|json|svg/
    expect([link, answer.headers['content-type']]).toEqual([link, expect.stringMatching(type)])
  }
})

test('a page is revalidated on each visit, and sent again only if it has changed', async () => {
  const first = await fetch(`${app.address}/docs/install.html`)
  expect(first.headers.get('cache-control')).toBe('no-cache')
  expect(first.headers.get('content-security-policy')).toContain("script-src 'self'")
  const again = await fetch(`${app.address}/docs/install.html`, {
    headers: { 'if-none-match': first.headers.get('etag') as string },
  })
  expect([again.status, await again.text()]).toEqual([304, ''])
})

test('no path leads out of the site or to the record of the build', async () => {
  for (const path of [
    '/docs/..%2fweb/index.html',
    '/docs/%2e%2e/pip/index.json',
    '/docs/.build-hash',
    '/docs/none',
  ])
    expect([path, (await app.call('GET', path)).status]).toEqual([path, 404])
})

test('if the site is not built, the answer says how to build it', async () => {
  const bare = fastify()
  bare.setErrorHandler((error, _request, reply) => reply.code(404).send({ said: String(error) }))
  documentationRoutes(bare, join(scratch, 'nothing'))
  expect((await bare.inject('/docs/')).json().said).toContain('npm run build:docs')
  writeFileSync(join(scratch, 'index.html'), '<!doctype html>')
  const some = fastify()
  some.setErrorHandler((error, _request, reply) => reply.code(404).send({ said: String(error) }))
  documentationRoutes(some, scratch)
  expect((await some.inject('/docs/')).statusCode).toBe(200)
  expect((await some.inject('/docs/other')).json().said).not.toContain('npm run')
  await Promise.all([bare.close(), some.close()])
})

test.each([
  'light',
  'dark',
] as const)('in a browser (%s) the search leads to a section, under the content security policy', async (theme) => {
  const { page, context, complaints } = await visit(browser, { address: app.address, theme })
  await page.goto('/docs/')
  expect(await seriousFindings(page)).toEqual([])
  await page.keyboard.press('/')
  await page.keyboard.type('spill folder')
  const hit = page.locator('.search li a').first()
  await hit.waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/.+#/)
  const section = page.locator(new URL(page.url()).hash)
  expect(await section.isVisible()).toBe(true)
  await page.goto('/docs/guides/sweeps.html')
  expect(await seriousFindings(page)).toEqual([])
  expect(await page.locator('nav a[aria-current]').innerText()).toBe('Sweeps')
  // Nothing is wider than the screen of a phone.
  await page.setViewportSize({ width: 390, height: 800 })
  for (const path of ['/docs/', '/docs/operations.html', '/docs/reference/events.html']) {
    await page.goto(path)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  }
  expect(complaints).toEqual([])
  await context.close()
})
