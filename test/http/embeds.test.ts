import { inflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { numberText, pngOf, svgOf } from '../../src/domain/pictures/index.ts'
import { rangeOf, ticksOf } from '../../src/domain/pictures/ticks.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Stage, startOf } from './stage.ts'

// Charts, tables, badges and reports on other sites (docs/embeds.md).

let stage: Stage
let open = ''
let closed = ''
let hidden = ''
beforeAll(async () => {
  stage = await openStage()
  const source = { project: 'vision', host: 'gpu-box-7', user: 'ada' }
  const of = (type: Parameters<typeof makeEvent>[0], job: string | null, data = {}) =>
    makeEvent(type, { batch_id: 'drawn', job_id: job, source, data })
  await stage.send(stage.batchOwner, [
    startOf({ id: 'drawn', source }, { n_total: 2 }),
    ...['one', 'two <b>'].flatMap((job, j) => [
      of('job_start', job),
      ...[0.9, 0.5, 0.7].map((loss, epoch) =>
        of('job_epoch', job, { epoch, val_loss: loss + j, acc: 1 - loss, 'of gpu-box-7': 1 }),
      ),
    ]),
  ])
  const share = async (body: object): Promise<string> =>
    (await stage.app.call('POST', '/api/batches/drawn/shares', { token: stage.batchOwner.token, body })).body
      .token
  open = await share({ embed: true })
  closed = await share({})
  hidden = await share({ embed: true, anonymous: true })
})
afterAll(() => stage?.stop())

const at = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${stage.app.address}${path}`, { headers, redirect: 'manual' })
const textAt = async (path: string): Promise<string> => (await at(path)).text()

describe('a link with the option', () => {
  test('is a chart in a frame that runs and loads nothing', async () => {
    const answer = await at(`/api/shared/${open}/embed?key=val_loss&theme=dark`)
    const html = await answer.text()
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(
      /^sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; default-src 'none';/,
    )
    expect(policy).toContain('frame-ancestors *')
    expect(policy).not.toMatch(/script-src|unsafe|same-origin/)
    expect(answer.headers.get('x-frame-options')).toBeNull()
    expect(html).toContain('data-theme="dark"')
    expect(html.match(/<path /g)).toHaveLength(2)
    expect(html).toContain('two &lt;b&gt;')
    expect(html).not.toMatch(/<b>|<script|style="/)
    expect(html).toContain(`href="${stage.app.address}/s/${open}"`)
  })

  test('is a table of jobs with last values', async () => {
    const html = await textAt(`/api/shared/${open}/embed?view=table&key=val_loss`)
    expect(html).toContain('<td>two &lt;b&gt;</td><td>running</td><td>3</td><td>1.7</td>')
  })

  test('is a picture as SVG and PNG, which other sites may load and keep for a minute', async () => {
    const svg = await at(`/api/shared/${open}/chart.svg?width=300&height=200`)
    expect(svg.headers.get('content-type')).toBe('image/svg+xml')
    expect(await svg.text()).toMatch(/^<svg [^>]*width="300" height="200"/)
    const png = await at(`/api/shared/${open}/chart.png?width=300&height=200`)
    const bytes = Buffer.from(await png.arrayBuffer())
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([600, 400])
    for (const answer of [svg, png]) {
      expect(answer.headers.get('cross-origin-resource-policy')).toBe('cross-origin')
      expect(answer.headers.get('cache-control')).toBe('public, max-age=60')
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors *")
    }
  })

  test('is a badge with the status, or the best value of a series', async () => {
    expect(await textAt(`/api/shared/${open}/badge.svg`)).toContain('aria-label="drawn: running"')
    expect(await textAt(`/api/shared/${open}/badge.svg?key=val_loss`)).toContain('aria-label="val_loss: 0.5"')
    expect(await textAt(`/api/shared/${open}/badge.svg?key=acc&label=best`)).toContain(
      'aria-label="best: 0.5"',
    )
    expect(await textAt(`/api/shared/${open}/badge.svg?key=none`)).toContain('aria-label="none: no value"')
  })

  test('has oEmbed, for its own address alone', async () => {
    const ask = (url: string) =>
      stage.app.call('GET', `/api/oembed?url=${encodeURIComponent(url)}&maxwidth=500`)
    const found = await ask(`${stage.app.address}/s/${open}`)
    expect(found.body).toMatchObject({ version: '1.0', type: 'rich', title: 'drawn', width: 500 })
    expect(found.body.html).toContain(`/api/shared/${open}/embed?width=476`)
    expect((await ask(`https://example.org/s/${open}`)).body.code).toBe('share_not_found')
    expect((await ask(`${stage.app.address}/s/${closed}`)).body.code).toBe('embed_not_allowed')
  })

  test('shows of an anonymous link what the link shows', async () => {
    const html = await textAt(`/api/shared/${hidden}/embed?view=table`)
    expect(html).toContain('of [hidden]')
    expect(html).not.toContain('gpu-box-7')
    const key = encodeURIComponent('of [hidden]')
    expect((await textAt(`/api/shared/${hidden}/chart.svg?key=${key}`)).match(/<path /g)).toHaveLength(2)
  })

  test('ends with the link', async () => {
    const made = await stage.app.call('POST', '/api/batches/drawn/shares', {
      token: stage.batchOwner.token,
      body: { embed: true },
    })
    await stage.app.call('DELETE', `/api/shares/${made.body.id}`, { token: stage.batchOwner.token })
    for (const path of ['embed', 'chart.svg', 'chart.png', 'badge.svg'])
      expect((await at(`/api/shared/${made.body.token}/${path}`)).status).toBe(404)
  })
})

test('a link without the option, and every other page, stays out of frames', async () => {
  for (const path of ['embed', 'chart.svg', 'chart.png', 'badge.svg']) {
    const answer = await at(`/api/shared/${closed}/${path}`)
    expect([path, answer.status, (await answer.json()).code]).toEqual([path, 403, 'embed_not_allowed'])
    expect(answer.headers.get('content-security-policy') ?? '').not.toContain('frame-ancestors *')
  }
  for (const path of ['/', `/s/${open}`, '/b/drawn']) {
    const answer = await at(path, { accept: 'text/html' })
    expect([path, answer.headers.get('content-security-policy')]).toEqual([
      path,
      expect.stringContaining("frame-ancestors 'none'"),
    ])
  }
})

test('a report is embedded with its charts and tables, and nothing in its text runs or loads', async () => {
  const body = [
    'Some **text**, <script>alert(1)</script> ![x](https://example.org/a.png) [bad](javascript:alert(1))',
    '@batch(drawn)',
    '@chart(drawn, val_loss)',
    '@jobs(drawn)',
    '@sweep(drawn)',
    '@chart(unknown, x)',
    '```\n@chart(drawn, val_loss)\n```',
  ].join('\n\n')
  const report = { title: 'Findings', project: 'vision', body }
  const made = await stage.app.call('POST', '/api/reports', { token: stage.batchOwner.token, body: report })
  const link = async (options: object): Promise<string> =>
    (
      await stage.app.call('POST', `/api/reports/${made.body.id}/links`, {
        token: stage.batchOwner.token,
        body: options,
      })
    ).body.token
  const html = await textAt(`/api/shared-reports/${await link({ embed: true })}/embed`)
  expect(html).toContain('<strong>text</strong>')
  expect(html).toContain('&lt;script&gt;')
  expect(html).not.toMatch(/<script|<img|javascript:/)
  expect(html.match(/<svg /g)).toHaveLength(1)
  expect(html.match(/<table>/g)).toHaveLength(1)
  expect(html).toContain('A run that this link does not open')
  expect(html).toContain('<code>@chart(drawn, val_loss)')
  expect((await at(`/api/shared-reports/${await link({})}/embed`)).status).toBe(403)
})

describe('pictures', () => {
  test('a filled rectangle is its colour within and the background outside of it', async () => {
    const png = await pngOf({
      width: 4,
      height: 2,
      background: '#ffffff',
      shapes: [{ kind: 'rect', x: 1, y: 0, width: 2.25, height: 1, fill: '#000000' }],
    })
    const data = png.subarray(png.indexOf('IDAT') + 4, png.indexOf('IEND') - 8)
    const rows = inflateSync(data)
    const red = (x: number, y: number): number | undefined => rows[y * (8 * 3 + 1) + 1 + x * 3]
    expect([0, 1, 2, 5, 6, 7].map((x) => red(x, 0))).toEqual([255, 255, 0, 0, 128, 255])
    expect([2, 3].map((y) => red(3, y))).toEqual([255, 255])
  })

  test('a gap interrupts a line', () => {
    const line = { kind: 'line', stroke: '#000000', width: 1 } as const
    const svg = svgOf(
      {
        width: 9,
        height: 9,
        background: 'none',
        shapes: [{ ...line, xs: [0, 1, 2, 3], ys: [0, 1, Number.NaN, 3] }],
      },
      'x',
    )
    expect(svg).toContain('d="M0 0h0L1 1M3 3h0"')
  })

  test.each([
    [1, 0.99999994],
    [0, 0],
    [5e-324, 5e-324],
    [-1.7e308, 1.7e308],
    [1e-320, 2e-320],
    [1e34, 1e34],
    [1.7e9, 1.7e9 + 1],
  ])('an axis from %d to %d has few finite ticks', (a, b) => {
    const [low, high] = rangeOf(Math.min(a, b), Math.max(a, b))
    const ticks = ticksOf(low, high, 6)
    expect(ticks.length).toBeLessThanOrEqual(7)
    expect(ticks.every((tick) => Number.isFinite(tick) && numberText(tick) !== '')).toBe(true)
  })
})
