import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { declaration, head, PNG, patch, putFile, sha256 } from '../files/sending-files.ts'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [
    makeEvent('batch_start', { batch_id: 'runs' }),
    makeEvent('batch_start', { batch_id: 'shown', source: { project: 'open' } }),
  ])
})
afterAll(() => stage?.stop())

const call = (...args: Parameters<Stage['app']['call']>) => stage.app.call(...args)
const declare = (token: string, files: unknown[], batch = 'runs') =>
  call('POST', `/api/batches/${batch}/files`, { token, body: { files } })
const put = (path: string, bytes: Buffer | string, more = {}) =>
  putFile(stage.app, { token: stage.batchOwner.reporter, batch: 'runs' }, path, bytes, more)
const read = (path: string) => call('GET', `/api/batches/runs/files/${path}`, { token: stage.viewer.token })

const png = (width: number, height: number): Buffer => {
  const image = Buffer.from(PNG)
  image.writeUInt32BE(width, 16)
  image.writeUInt32BE(height, 20)
  return image
}
const jpeg = (width: number, height: number): Buffer => {
  const start = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc00011080000000003012200', 'hex')
  start.writeUInt16BE(height, 25)
  start.writeUInt16BE(width, 27)
  return start
}
const webp = (width: number, height: number): Buffer => {
  const image = Buffer.alloc(30)
  image.write('RIFF', 0, 'latin1')
  image.write('WEBPVP8X', 8, 'latin1')
  image.writeUIntLE(width - 1, 24, 3)
  image.writeUIntLE(height - 1, 27, 3)
  return image
}

test('what runs scripts is an attachment in a sandbox, under any name and declared type', async () => {
  const script = '<script>alert(document.cookie)</script>'
  for (const [name, bytes] of [
    ['page.png', `<!doctype html>${script}`],
    ['drawing.png', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    ['code.gif', 'alert(1)'],
    ['late.png', ` \n\x89PNG\r\n\x1a\n${script}`],
    ['doc.webp', '%PDF-1.7'],
    ['zip.jpg', 'PK\x03\x04'],
    ['mkv.webm', Buffer.from('1a45dfa3a34286810142f7810142f2810442f381084282886d6174726f736b61', 'hex')],
    ['mov.mp4', Buffer.from('\0\0\0\x14ftypqt  \0\0\0\0', 'latin1')],
  ] as const) {
    await put(name, bytes, { media_type: 'image/png' })
    const { headers } = await read(name)
    expect([name, headers['content-type'], headers['content-security-policy']]).toEqual([
      name,
      'application/octet-stream',
      'sandbox',
    ])
    expect(headers['content-disposition']).toMatch(/^attachment/)
    expect(headers['x-content-type-options']).toBe('nosniff')
  }
  const list = await call('GET', '/api/batches/runs/files?prefix=page.png', { token: stage.viewer.token })
  expect(list.body.items[0].media_type).toBe('application/octet-stream')
})

test('a polyglot is sent as the image that it begins as, and cannot be read as anything else', async () => {
  await put('poly.html', Buffer.concat([PNG, Buffer.from('<html><script>alert(1)</script>')]))
  const { headers } = await read('poly.html')
  expect([headers['content-type'], headers['x-content-type-options']]).toEqual(['image/png', 'nosniff'])
})

test('images are shown by the pixels that they declare, and bombs are attachments', async () => {
  const shown = async (name: string, bytes: Buffer) => {
    await put(name, bytes)
    return (await read(name)).headers['content-type']
  }
  expect(await shown('small.png', png(4000, 3000))).toBe('image/png')
  expect(await shown('bomb.png', png(60_000, 60_000))).toBe('application/octet-stream')
  expect(await shown('small.jpg', jpeg(4000, 3000))).toBe('image/jpeg')
  expect(await shown('bomb.jpg', jpeg(65_000, 65_000))).toBe('application/octet-stream')
  expect(await shown('small.webp', webp(4000, 3000))).toBe('image/webp')
  expect(await shown('bomb.webp', webp(16_000_000, 16_000_000))).toBe('application/octet-stream')
})

test('the other types of the list are recognised by their first bytes', async () => {
  const text = (value: string) => Buffer.from(value, 'latin1')
  for (const [type, bytes] of [
    ['image/gif', text('GIF89a\x01\0\x01\0')],
    ['image/avif', text('\0\0\0\x1cftypavif\0\0\0\0')],
    ['audio/mpeg', text('ID3\x04\0\0\0\0\0\0')],
    ['audio/mpeg', Buffer.from('fffb9064', 'hex')],
    ['audio/wav', text('RIFF\0\0\0\0WAVEfmt ')],
    ['audio/ogg', text('OggS\0\x02')],
    ['audio/flac', text('fLaC\0')],
    ['video/mp4', text('\0\0\0\x18ftypisom\0\0\0\0')],
    ['video/webm', Buffer.from('1a45dfa39f4286810142f7810142f2810442f381084282847765626d', 'hex')],
  ] as const) {
    await put(`kind-${bytes.length}`, bytes)
    expect((await read(`kind-${bytes.length}`)).headers['content-type']).toBe(type)
  }
})

test('no path leaves the batch or hides what it is', async () => {
  const { reporter } = stage.batchOwner
  const bad = [
    '../up',
    'a/../../b',
    '/etc/passwd',
    'a//b',
    './a',
    'a/.',
    '',
    'a\\b',
    'C:/x',
    'c:x',
    'nul\0byte',
    'line\nbreak',
    'bell\u0007',
    '\u009f',
    '\ud800',
    `${'x'.repeat(1_025)}`,
  ]
  for (const path of bad) {
    const { status, body } = await declare(reporter, [{ ...declaration('x', 'x'), path }])
    expect([path, status, body.errors?.[0]?.path]).toEqual([path, 422, 'files.0.path'])
  }
  // Names that only look like steps or links are names.
  for (const path of ['..a/b', 'a/%2e%2e/b', 'link -> /etc/passwd', '~/x', '$(id)', 'ünï/ 文件']) {
    await put(path, `of ${path}`)
    const url = path.split('/').map(encodeURIComponent).join('/')
    expect((await read(url)).body).toBe(`of ${path}`)
  }
})

/** Sends a path unchanged, which URL would tidy up. */
const raw = (path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(stage.app.address)
    const headers = { authorization: `Bearer ${stage.viewer.token}` }
    request({ hostname, port, path, headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
      .on('error', reject)
      .end()
  })

test('a path in an address is decoded once, and found only as it was declared', async () => {
  await put('dir/file.txt', 'text')
  expect(await raw('/api/batches/runs/files/dir/file.txt')).toBe(200)
  expect(await raw('/api/batches/runs/files/dir%2Ffile.txt')).toBe(200)
  for (const path of [
    'dir%252Ffile.txt',
    'dir/../dir/file.txt',
    'dir/%2e%2e/dir/file.txt',
    '..%2f..%2f..%2fetc%2fpasswd',
    '../../../etc/passwd',
    '%00',
    'dir/file.txt%00.png',
    'DIR/FILE.TXT',
  ])
    expect([path, await raw(`/api/batches/runs/files/${path}`)]).toEqual([path, expect.toBeOneOf([400, 404])])
})

test('an upload belongs to the user who declared it, and neither its id nor a hash opens anything', async () => {
  const owner = stage.batchOwner
  const { body } = await declare(owner.reporter, [declaration('secret.bin', 'secret')])
  const url = body.items[0].upload_url
  for (const other of [stage.member, stage.stranger, stage.admin]) {
    expect((await head(stage.app, other.reporter, url)).status).toBe(404)
    expect((await patch(stage.app, other.reporter, url, 0, 'secret')).status).toBe(404)
  }
  for (const id of [randomUUID(), 'x', '..%2F..', '0'.repeat(500)])
    expect((await head(stage.app, owner.reporter, `/api/uploads/${id}`)).status).toBe(404)
  expect((await patch(stage.app, owner.token, url, 0, 'secret')).status).toBe(403)
  expect((await call('PATCH', url)).status).toBe(401)
  await patch(stage.app, owner.reporter, url, 0, 'secret')

  // Another project, and another user of it, cannot take the content by its hash.
  const stolen = await declare(stage.member.reporter, [declaration('mine.bin', 'secret')], 'shown')
  expect(stolen.body.items[0].state).toBe('missing')
  const void_ = await patch(stage.app, stage.member.reporter, stolen.body.items[0].upload_url, 0, 'guessed')
  expect(void_.status).toBe(413)
  expect((await call('GET', '/api/batches/shown/files/mine.bin')).status).toBe(404)
  expect((await declare(stage.stranger.reporter, [declaration('x', 'secret')])).status).toBe(404)
  expect((await declare(stage.viewer.reporter, [declaration('x', 'secret')])).status).toBe(403)
})

test('one who loses access to the project cannot go on sending', async () => {
  const { body } = await declare(stage.member.reporter, [declaration('left.bin', 'left')])
  const url = body.items[0].upload_url
  await patch(stage.app, stage.member.reporter, url, 0, 'le')
  const gone = await call('DELETE', `/api/projects/vision/members/${stage.member.id}`, {
    token: stage.owner.token,
  })
  expect(gone.status).toBe(204)
  expect((await patch(stage.app, stage.member.reporter, url, 2, 'ft')).status).toBe(404)
})

test('the bytes of a private batch are for its readers', async () => {
  await put('private.txt', 'private')
  const url = '/api/batches/runs/files/private.txt'
  const statuses = await Promise.all(
    [undefined, stage.stranger.token, stage.batchOwner.reporter, stage.viewer.read].map(
      async (token) => (await call('GET', url, token === undefined ? {} : { token })).status,
    ),
  )
  expect(statuses).toEqual([404, 404, 403, 200])
  expect((await read(`private.txt?sha256=${sha256('private')}`)).status).toBe(422)
})
