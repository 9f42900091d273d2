import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { readSeriesFrames } from '../../web/src/lib/api/series-frames.ts'
import { chartedBatch } from './charted-batch.ts'
import { pageFixture } from './page-fixture.ts'
import { send } from './visit.ts'

const BATCH = 'far-away'
const JOBS = 20
const EPOCHS = 300
const TOTAL = (JOBS * EPOCHS).toLocaleString('en')
/** What a line of 50 kB/s carries in five seconds; the first chart is to be seen within six. */
const MAX_BYTES = 250_000

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, chartedBatch(BATCH, JOBS, 5, EPOCHS).events)
})

/** What the first chart says of its points, each time that it changes. */
const RECORD_LABELS = `
  globalThis.labels = []
  new MutationObserver(() => {
    const label = document.querySelector('[data-points]')?.textContent
    if (label && label !== labels.at(-1)) labels.push(label)
  }).observe(document, { subtree: true, childList: true, characterData: true })`

async function slowDown(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Network.enable')
  const carry = (bytesPerS: number, latency: number) =>
    devtools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency,
      downloadThroughput: bytesPerS,
      uploadThroughput: bytesPerS,
    })
  await carry(50_000, 100)
  return { devtools, carryAll: () => carry(-1, 0) }
}

test('on a slow connection the first chart loads before other charts and fonts, with its number of points', async () => {
  const context = await web.browser.newContext({
    viewport: { width: 1440, height: 900 },
    baseURL: web.app.address,
  })
  const [name = '', value = ''] = web.ada.cookie.split('=', 2)
  await context.addCookies([{ name, value, url: web.app.address }])
  const page = await context.newPage()
  await page.addInitScript(RECORD_LABELS)
  const { devtools, carryAll } = await slowDown(page)

  const urls = new Map<string, string>()
  const bytes = new Map<string, number>()
  devtools.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url))
  devtools.on('Network.dataReceived', ({ requestId, encodedDataLength }) =>
    bytes.set(requestId, (bytes.get(requestId) ?? 0) + encodedDataLength),
  )
  const first = new Promise<{ id: string; bytes: number; asked: string[] }>((done) => {
    devtools.on('Network.loadingFinished', ({ requestId }) => {
      if (!urls.get(requestId)?.includes('/metrics?')) return
      done({
        id: requestId,
        bytes: [...bytes.values()].reduce((sum, one) => sum + one, 0),
        asked: [...urls.values()],
      })
    })
  })
  await page.goto(`/b/${BATCH}`, { waitUntil: 'commit' })
  const { id, bytes: before, asked } = await first
  expect(before).toBeLessThan(MAX_BYTES)
  expect(asked.filter((url) => /\.woff2$/.test(url))).toEqual([])
  expect(asked.filter((url) => url.includes('/metrics?'))).toHaveLength(1)

  const { body, base64Encoded } = await devtools.send('Network.getResponseBody', { requestId: id })
  const frames = Buffer.from(body, base64Encoded ? 'base64' : 'latin1')
  const series = readSeriesFrames(new Uint8Array(frames).buffer)
  const shown = series.reduce((sum, one) => sum + one.values.length, 0)
  expect(shown).toBeLessThan(JOBS * EPOCHS)
  const labels = () => page.evaluate('labels') as Promise<string[]>
  await expect.poll(labels).toContainEqual(expect.stringContaining(`of ${TOTAL} points`))
  expect((await labels())[0]).toContain(`${shown.toLocaleString('en')} of ${TOTAL} points`)

  await carryAll()
  await expect.poll(labels).toContainEqual(expect.stringContaining(`${TOTAL} of ${TOTAL} points`))
  await expect.poll(() => [...urls.values()].filter((url) => /inter.*\.woff2$/.test(url))).toHaveLength(1)
  await context.close()
})
