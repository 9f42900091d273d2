import { Readable } from 'node:stream'
import { pino } from 'pino'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createThumbnails } from '../../src/domain/files/index.ts'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { putFile, sha256 } from './sending-files.ts'

let stage: Stage
/** An image that does not compress, in each type. */
const images: Record<string, Buffer> = {}
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [makeEvent('batch_start', { batch_id: 'runs' })])
  const noise = sharp({
    create: {
      width: 960,
      height: 480,
      channels: 3,
      background: 'white',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
  images['a.png'] = await noise.clone().png().toBuffer()
  images['a.jpg'] = await noise.clone().jpeg({ quality: 95 }).toBuffer()
  images['a.webp'] = await noise.clone().webp({ quality: 95 }).toBuffer()
  images['a.gif'] = await noise.clone().gif().toBuffer()
  for (const [path, bytes] of Object.entries(images)) await put(path, bytes)
})
afterAll(() => stage?.stop())

const put = (path: string, bytes: Buffer) =>
  putFile(stage.app, { token: stage.batchOwner.reporter, batch: 'runs' }, path, bytes)
const address = (path: string, query = '') => `/api/batches/runs/files/${path}${query}`
const read = (path: string, query = '', headers = {}) =>
  stage.app.call('GET', address(path, query), { token: stage.viewer.token, headers })
const bytesAt = async (path: string, query: string): Promise<Buffer> => {
  const headers = { authorization: `Bearer ${stage.viewer.token}` }
  const answer = await fetch(`${stage.app.address}${address(path, query)}`, { headers })
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}

test.each([
  'a.png',
  'a.jpg',
  'a.webp',
])('%s has a copy of each width, whose bytes are fewer', async (path) => {
  for (const width of [160, 320, 640]) {
    const small = await bytesAt(path, `?width=${width}`)
    expect(await sharp(small).metadata()).toMatchObject({ format: 'webp', width, height: width / 2 })
    expect(small.length).toBeLessThan((images[path] as Buffer).length)
  }
})

test('a copy has an entity tag of its own, and the type of its bytes', async () => {
  const { headers } = await read('a.png', '?width=320')
  expect(headers['content-type']).toBe('image/webp')
  expect(headers.etag).toBe(`"${sha256(images['a.png'] as Buffer)}-320"`)
  const again = await read('a.png', '?width=320', { 'if-none-match': headers.etag as string })
  expect(again.status).toBe(304)
  expect((await read('a.png', '', { 'if-none-match': headers.etag as string })).status).toBe(200)
})

test('other types, small images, damaged ones and downloads are sent as they were stored', async () => {
  const damaged = Buffer.from(images['a.png'] as Buffer)
  damaged.fill(0, 200)
  const tiny = await sharp({ create: { width: 900, height: 600, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  await put('damaged.png', damaged)
  await put('tiny.png', tiny)
  expect((await bytesAt('damaged.png', '?width=160')).equals(damaged)).toBe(true)
  expect((await bytesAt('tiny.png', '?width=160')).equals(tiny)).toBe(true)
  expect((await bytesAt('a.gif', '?width=160')).equals(images['a.gif'] as Buffer)).toBe(true)
  expect((await bytesAt('a.png', '?width=160&download=true')).equals(images['a.png'] as Buffer)).toBe(true)
})

test('only these widths are made', async () => {
  expect((await read('a.png', '?width=161')).status).toBe(422)
})

test('who may not read the image gets no copy of it', async () => {
  const { status } = await stage.app.call('GET', address('a.png', '?width=160'), {
    token: stage.stranger.token,
  })
  expect(status).toBe((await stage.app.call('GET', address('a.png'), { token: stage.stranger.token })).status)
  expect(status).toBe(404)
})

test('a copy turns the image as its camera was held', async () => {
  const held = await sharp(images['a.png']).withMetadata({ orientation: 6 }).jpeg({ quality: 95 }).toBuffer()
  await put('held.jpg', held)
  expect(await sharp(await bytesAt('held.jpg', '?width=160')).metadata()).toMatchObject({
    width: 160,
    height: 320,
  })
})

test('without the package, and for many at once, there is an answer for each', async () => {
  const bytes = images['a.png'] as Buffer
  const content = { sha256: sha256(bytes), size: bytes.length, object: '1/x', mediaType: 'image/png' }
  const open = async () => Readable.from([bytes])
  const keptBytes = 1024 * 1024
  const log = pino({ level: 'silent' })
  const without = createThumbnails({ log, keptBytes, load: () => Promise.reject(new Error('missing')) })
  expect(await without.of(content, '160', open)).toBeUndefined()
  const thumbnails = createThumbnails({ log, keptBytes })
  const many = await Promise.all(
    Array.from({ length: 300 }, (_, i) => thumbnails.of({ ...content, sha256: `${i % 3}` }, '160', open)),
  )
  expect(many.filter((one) => one !== undefined).length).toBeGreaterThanOrEqual(200)
})
