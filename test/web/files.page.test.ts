import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { putFile } from '../files/sending-files.ts'
import { png } from './media-samples.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, sendRanBatch } from './ran-batch.ts'
import { type Event, send, seriousFindings } from './visit.ts'

const RAN = 'night-sweep'
const HOSTILE = '<img src=x onerror="document.title=1">'
const FRAME = '<style>h1 { color: red }</style><h1>Report</h1><script>parent.document.title = 1</script>'

const web = pageFixture(async ({ app, reporter }) => {
  await sendRanBatch(app, reporter, RAN)
  const to = { token: reporter, batch: RAN }
  await putFile(app, to, 'config.json', Buffer.from(JSON.stringify({ lr: 0.1, layers: [64, 32] })))
  await putFile(app, to, 'train.py', Buffer.from('import torch\nprint("<b>hello</b>")\n'))
  await putFile(
    app,
    to,
    'out/metrics.csv',
    Buffer.from(`epoch,name,loss\n0,"a, b",0.5\n1,${'"'}${HOSTILE.replaceAll('"', '""')}${'"'},0.25\n`),
  )
  await putFile(app, to, 'out/images/first.png', png(8, 8, (x) => [x * 30, 0, 90]).bytes)
  await putFile(app, to, 'out/report.html', Buffer.from(FRAME))
  await putFile(app, to, 'checkpoints/last.pt', Buffer.alloc(5_000, 1))
  await putFile(app, to, 'long.log', Buffer.from('a line of the log\n'.repeat(30_000)))
})

const open = async (path: string, look = {}) => {
  const one = await web.asAda(look)
  await one.page.goto(path)
  return one
}

test('the files of a batch are a tree with sizes, and a preview shows what is in one', async () => {
  const { page, context, complaints } = await open(`/b/${RAN}`)
  await page.getByRole('link', { name: 'Files' }).click()
  const preview = page.getByRole('region', { name: 'Preview' })
  await page.getByText('7 files,').waitFor()
  await expect.poll(() => page.getByRole('button', { name: /^out 3 files/ }).count()).toBe(1)
  await page.locator('[data-file="config.json"]').click()
  await preview.getByText('"layers": [').waitFor()
  expect(new URL(page.url()).searchParams.get('file')).toBe('config.json')
  await page.locator('[data-file="train.py"]').click()
  await preview.getByText('print("<b>hello</b>")').waitFor()
  await page.locator('[data-file="out/images/first.png"]').click()
  await expect
    .poll(() =>
      preview.getByRole('img', { name: 'first.png' }).evaluate((at: HTMLImageElement) => at.naturalWidth),
    )
    .toBe(8)
  await page.locator('[data-file="checkpoints/last.pt"]').click()
  await preview.getByText('There is no preview of this kind of file.').waitFor()
  const download = page.waitForEvent('download')
  await preview.getByRole('link', { name: 'Download (4.88 KiB)' }).click()
  expect((await download).suggestedFilename()).toBe('last.pt')
  const all = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download all' }).click()
  expect((await all).suggestedFilename()).toBe(`${RAN}.zip`)
  expect(await (await all).failure()).toBeNull()
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a CSV file is a table to sort, filter and search, and its cells are text', async () => {
  const { page, context, complaints } = await open(`/b/${RAN}/files?file=out/metrics.csv`)
  const rows = page.locator('[data-table-rows] tbody tr')
  const first = () => rows.first().locator('td').allInnerTexts()
  await expect.poll(first).toEqual(['0', 'a, b', '0.5'])
  await page.getByRole('button', { name: 'loss' }).click()
  await expect.poll(first).toEqual(['1', HOSTILE, '0.25'])
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByLabel('Filter loss').fill('>0.3')
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByText('1 of 2 rows').waitFor()
  expect(await page.title()).not.toBe('1')
  expect(complaints).toEqual([])
  await context.close()
})

/** A frame of Zstandard whose blocks are not compressed: Node 20 has no Zstandard. */
function zstd(input: Uint8Array): Uint8Array {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(input.length)
  const parts: Uint8Array[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0]), length]
  for (let at = 0; at < input.length; at += 100_000) {
    const block = input.subarray(at, at + 100_000)
    const header = Buffer.alloc(3)
    header.writeUIntLE((block.length << 3) | Number(at + 100_000 >= input.length), 0, 3)
    parts.push(header, block)
  }
  return Buffer.concat(parts)
}

test('a Parquet file shows its first rows, or its columns and why not its rows', async () => {
  const { parquetWriteBuffer } = await import('hyparquet-writer')
  const rows = Array.from({ length: 5_000 }, (_, i) => i)
  const columnData = [
    { name: 'id', data: rows },
    { name: 'big', data: rows.map((i) => BigInt(i) * 1_000n) },
    { name: 'label', data: rows.map((i) => (i % 2 ? HOSTILE : 'cat')) },
  ]
  const put = (path: string, bytes: ArrayBuffer) =>
    putFile(web.app, { token: web.reporter, batch: RAN }, path, Buffer.from(bytes))
  await put('out/rows.parquet', parquetWriteBuffer({ columnData }))
  const compressors = {
    GZIP: gzipSync,
    BROTLI: brotliCompressSync,
    ZSTD: zstd,
    LZO: (input: Uint8Array) => input,
  }
  const codecs = ['GZIP', 'BROTLI', 'ZSTD', 'LZO'] as const
  for (const codec of codecs)
    await put(`out/${codec}.parquet`, parquetWriteBuffer({ columnData, codec, compressors }))
  await put('out/broken.parquet', new TextEncoder().encode('PAR1 this is none').buffer as ArrayBuffer)
  const { page, context, complaints } = await open(`/b/${RAN}/files?file=out/rows.parquet`)
  const preview = page.getByRole('region', { name: 'Preview' })
  await preview.getByText('The first 1,000 of 5,000 rows').waitFor()
  const cells = () => preview.locator('tbody tr').nth(1).locator('td').allInnerTexts()
  await expect.poll(cells).toEqual(['1', '1,000', HOSTILE])
  for (const codec of ['GZIP', 'BROTLI', 'ZSTD']) {
    await page.locator(`[data-file="out/${codec}.parquet"]`).click()
    await preview.getByRole('region', { name: `${codec}.parquet` }).waitFor()
    await expect.poll(cells).toEqual(['1', '1,000', HOSTILE])
  }
  await page.locator('[data-file="out/LZO.parquet"]').click()
  await preview.getByText('Its rows are compressed with LZO: download it.').waitFor()
  await preview.getByRole('list', { name: 'Columns of LZO.parquet' }).getByText('label').waitFor()
  await page.locator('[data-file="out/broken.parquet"]').click()
  await preview.getByText('It cannot be read as Parquet').waitFor()
  expect(await page.title()).not.toBe('1')
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('of a long text only its beginning is read', async () => {
  const { page, context } = await web.asAda()
  const read: number[] = []
  page.on('response', async (answer) => {
    if (answer.url().includes('/files/long.log'))
      read.push(Number((await answer.allHeaders())['content-length']))
  })
  await page.goto(`/b/${RAN}/files?file=long.log`)
  await page.getByText('The first 256 KiB of 527 KiB').waitFor()
  await expect.poll(() => read).toEqual([256 * 1024])
  await context.close()
})

test('HTML is shown in a frame that runs no scripts', async () => {
  const { page, context } = await open(`/b/${RAN}/files?file=out/report.html`)
  const heading = page.frameLocator('iframe').getByRole('heading', { name: 'Report' })
  await heading.waitFor()
  expect(await heading.evaluate((at) => getComputedStyle(at).color)).toBe('rgb(255, 0, 0)')
  expect(await page.locator('iframe').getAttribute('sandbox')).toBe('')
  expect(await page.title()).not.toBe('1')
  const { cookie } = web.ada
  const as = (destination: string, path = 'out/report.html?frame=true') =>
    fetch(`${web.app.address}/api/batches/${RAN}/files/${path}`, {
      headers: { cookie, 'sec-fetch-dest': destination },
    })
  const framed = await as('iframe')
  expect(framed.headers.get('content-security-policy')).toMatch(
    /^sandbox; default-src 'none'; style-src 'unsafe-inline'/,
  )
  expect(framed.headers.get('content-type')).toBe('text/html; charset=utf-8')
  // As a page of its own, or of another name, it is a download.
  for (const answer of [
    await as('document'),
    await as('iframe', 'train.py?frame=true'),
    await as('iframe', 'out/report.html'),
  ])
    expect([answer.headers.get('content-type'), answer.headers.get('content-security-policy')]).toEqual([
      'application/octet-stream',
      'sandbox',
    ])
  await context.close()
})

test('a file that arrives is listed without a reload, and a deleted one goes', async () => {
  const of = eventsOf('still-running')
  const events: Event[] = [of('batch_start', 20, { n_total: 1 }), of('job_start', 19, {}, 'one')]
  await send(web.app, web.reporter, events)
  const { page, context, complaints } = await open('/b/still-running/files')
  await page.getByText('No files yet').waitFor()
  await page.getByText('run.save("model.pt")').waitFor()
  const how = await page.getByRole('link', { name: 'Read how' }).getAttribute('href')
  expect(how).toBe('/docs/media.html#files-of-a-run')
  await putFile(
    web.app,
    { token: web.reporter, batch: 'still-running' },
    'notes.txt',
    Buffer.from('what was noted'),
  )
  await page.locator('[data-file="notes.txt"]').click()
  await page.getByText('what was noted').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).last().click()
  await page.getByRole('button', { name: 'Delete the file' }).click()
  await page.getByText('No files yet').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a command that was clicked may outlive the page, and what the page reads may not', async () => {
  const { page, context } = await web.asAda()
  await page.addInitScript(() => {
    const sent: string[] = []
    const plain = window.fetch
    window.fetch = (url, init) => {
      sent.push(`${init?.method ?? 'GET'} ${init?.keepalive === true}`)
      return plain(url, init)
    }
    Object.assign(window, { sent })
  })
  await page.goto(`/b/${RAN}`)
  await page.getByRole('button', { name: 'Star', exact: true }).click()
  const sent = () => page.evaluate(() => [...new Set((window as unknown as { sent: string[] }).sent)].sort())
  await expect.poll(sent).toContain('PATCH true')
  expect((await sent()).filter((one) => /^(GET|POST) true/.test(one))).toEqual([])
  await context.close()
})

test('a deletion that was clicked happens although its page is closed at once', async () => {
  const path = 'left/behind.txt'
  await putFile(web.app, { token: web.reporter, batch: RAN }, path, Buffer.from('to be deleted'))
  const { page, context } = await open(`/b/${RAN}/files?file=${path}`)
  await page.getByText('to be deleted').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).last().click()
  // The page is left in the turn of the click, before the request can have an answer.
  await page.getByRole('button', { name: 'Delete the file' }).evaluate((at: HTMLElement) => {
    at.click()
    location.replace('about:blank')
  })
  await page.waitForURL('about:blank')
  await page.close()
  const file = () => web.app.call('GET', `/api/batches/${RAN}/files/${path}`, { token: web.ada.token })
  await expect.poll(async () => (await file()).status).toBe(404)
  await context.close()
})
