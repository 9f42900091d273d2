import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { declaration, head, PNG, patch, putFile, sha256 } from './sending-files.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [
    makeEvent('batch_start', { batch_id: 'runs' }),
    makeEvent('job_start', { batch_id: 'runs' }),
    makeEvent('batch_start', { batch_id: 'others' }),
    makeEvent('batch_start', { batch_id: 'shown', source: { project: 'open' } }),
  ])
})
afterAll(() => stage?.stop())

const call = (...args: Parameters<Stage['app']['call']>) => stage.app.call(...args)
const declare = (token: string, files: unknown[], batch = 'runs') =>
  call('POST', `/api/batches/${batch}/files`, { token, body: { files } })
const put = (path: string, bytes: Buffer | string, batch = 'runs') =>
  putFile(stage.app, { token: stage.batchOwner.reporter, batch }, path, bytes)

test('a file is declared, sent in pieces, listed and read back by its path', async () => {
  const { reporter, read } = stage.batchOwner
  const bytes = randomBytes(300_000)
  const declared = await declare(reporter, [
    declaration('checkpoints/last epoch.pt', bytes, { job_id: 'job-1' }),
  ])
  expect(declared.status).toBe(200)
  const [item] = declared.body.items
  expect(item).toEqual({
    path: 'checkpoints/last epoch.pt',
    sha256: sha256(bytes),
    state: 'missing',
    upload_url: expect.stringMatching(/^\/api\/uploads\/[0-9a-f-]{36}$/),
  })
  const before = await head(stage.app, reporter, item.upload_url)
  expect(before.status).toBe(200)
  expect(before.headers).toMatchObject({
    'upload-offset': '0',
    'upload-length': '300000',
    'tus-resumable': '1.0.0',
    'cache-control': 'no-store',
  })
  const first = await patch(stage.app, reporter, item.upload_url, 0, bytes.subarray(0, 100_000))
  expect([first.status, first.headers['upload-offset']]).toEqual([204, '100000'])
  expect((await head(stage.app, reporter, item.upload_url)).headers['upload-offset']).toBe('100000')
  expect((await call('GET', '/api/batches/runs/files', { token: read })).body.items).toEqual([])

  const wrong = await patch(stage.app, reporter, item.upload_url, 0, bytes)
  expect([wrong.status, wrong.body.code, wrong.headers['upload-offset']]).toEqual([
    409,
    'upload_offset_mismatch',
    '100000',
  ])
  const rest = await patch(stage.app, reporter, item.upload_url, 100_000, bytes.subarray(100_000))
  expect([rest.status, rest.headers['upload-offset']]).toEqual([204, '300000'])
  expect((await head(stage.app, reporter, item.upload_url)).headers['upload-offset']).toBe('300000')

  const list = await call('GET', '/api/batches/runs/files?prefix=checkpoints/&job_id=job-1', { token: read })
  expect(list.body).toEqual({
    items: [
      {
        path: 'checkpoints/last epoch.pt',
        sha256: sha256(bytes),
        size: 300_000,
        media_type: 'application/octet-stream',
        job_id: 'job-1',
        created_at: expect.stringMatching(/Z$/),
        url: '/api/batches/runs/files/checkpoints/last%20epoch.pt',
      },
    ],
    next_cursor: null,
  })
  const got = await fetch(new URL(list.body.items[0].url, stage.app.address), {
    headers: { authorization: `Bearer ${read}` },
  })
  expect(got.status).toBe(200)
  expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).toBe(true)
  expect(Object.fromEntries(got.headers)).toMatchObject({
    etag: `"${sha256(bytes)}"`,
    'content-type': 'application/octet-stream',
    'content-security-policy': 'sandbox',
    'content-disposition': `attachment; filename="last_epoch.pt"; filename*=UTF-8''last%20epoch.pt`,
    'content-length': '300000',
    'x-content-type-options': 'nosniff',
  })
})

/** Reads a ZIP by another program: the names, and all bytes. */
async function unzipped(bytes: Buffer): Promise<Record<string, string>> {
  const read = `import io, json, sys, zipfile
z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
assert z.testzip() is None
print(json.dumps({one.filename: z.read(one).hex() for one in z.infolist()}))`
  const child = spawn('python3', ['-c', read], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(bytes)
  return JSON.parse(await text(child.stdout))
}

test('all files, or those of a folder, are one ZIP of known length', async () => {
  const files = { 'zip/a.txt': 'one', 'zip/deep/größe.bin': randomBytes(200_000), 'zip/empty': '' }
  await stage.send(stage.batchOwner, [makeEvent('batch_start', { batch_id: 'zipped' })])
  const batch = 'zipped'
  for (const [path, bytes] of Object.entries(files)) await put(path, bytes, batch)
  await put('other.txt', 'x', batch)
  const get = (query: string, token = stage.viewer.token, init: RequestInit = {}) =>
    fetch(new URL(`/api/batches/${batch}/files.zip${query}`, stage.app.address), {
      ...init,
      headers: { authorization: `Bearer ${token}` },
    })
  const all = await get('')
  const bytes = Buffer.from(await all.arrayBuffer())
  expect(Object.fromEntries(all.headers)).toMatchObject({
    'content-type': 'application/zip',
    'content-length': `${bytes.length}`,
    'content-disposition': `attachment; filename="zipped.zip"; filename*=UTF-8''zipped.zip`,
  })
  const hex = (one: Buffer | string): string => Buffer.from(one).toString('hex')
  const expected = Object.fromEntries(Object.entries(files).map(([path, one]) => [path, hex(one)]))
  expect(await unzipped(bytes)).toEqual({ ...expected, 'other.txt': hex('x') })
  const folder = await get('?prefix=zip/')
  expect(await unzipped(Buffer.from(await folder.arrayBuffer()))).toEqual(expected)
  const head = await get('?prefix=zip/', stage.viewer.token, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length')]).toEqual([
    200,
    folder.headers.get('content-length'),
  ])
  expect((await get('?prefix=none/')).status).toBe(404)
  expect((await get('?job_id=none')).status).toBe(404)
  expect((await get('?path=zip')).status).toBe(422)
})

test('a ZIP ends early if content is gone, so that no client takes it for whole', async () => {
  await stage.send(stage.batchOwner, [makeEvent('batch_start', { batch_id: 'torn' })])
  await put('1 first', randomBytes(1_000), 'torn')
  await put('2 lost', randomBytes(1_000), 'torn')
  const url = new URL('/api/batches/torn/files.zip', stage.app.address)
  const get = () => fetch(url, { headers: { authorization: `Bearer ${stage.viewer.token}` } })
  await stage.app.sql`
    update contents c set object = object || '0' from batch_files f
    where f.content_key = c.key and f.path = '2 lost'`
  await expect(get().then((answer) => answer.arrayBuffer())).rejects.toThrow()
  await stage.app.sql`
    update contents c set object = object || '0' from batch_files f
    where f.content_key = c.key and f.path = '1 first'`
  expect((await get()).status).toBe(503)
})

test('a range, an unchanged file and the headers alone are answered as HTTP defines', async () => {
  await put('text/numbers.txt', '0123456789')
  const token = stage.viewer.token
  const url = '/api/batches/runs/files/text/numbers.txt'
  const get = (headers: Record<string, string>, method = 'GET') => call(method, url, { token, headers })
  const part = await get({ range: 'bytes=2-4' })
  expect([part.status, part.body, part.headers['content-range']]).toEqual([206, '234', 'bytes 2-4/10'])
  expect((await get({ range: 'bytes=7-' })).body).toBe('789')
  expect((await get({ range: 'bytes=-3' })).body).toBe('789')
  expect((await get({ range: 'bytes=0-99' })).body).toBe('0123456789')
  for (const ignored of ['bytes=4-2', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=-', 'bytes=a-b'])
    expect([ignored, (await get({ range: ignored })).status]).toEqual([ignored, 200])
  const beyond = await get({ range: 'bytes=10-' })
  expect([beyond.status, beyond.body.code, beyond.headers['content-range']]).toEqual([
    416,
    'range_not_satisfiable',
    'bytes */10',
  ])
  const etag = `"${sha256('0123456789')}"`
  expect((await get({ 'if-none-match': etag })).status).toBe(304)
  expect((await get({ 'if-none-match': '"other"' })).status).toBe(200)
  expect((await get({ range: 'bytes=2-4', 'if-range': '"other"' })).status).toBe(200)
  expect((await get({ range: 'bytes=2-4', 'if-range': etag })).status).toBe(206)
  const headers = await get({}, 'HEAD')
  expect([headers.status, headers.headers['content-length'], headers.body]).toEqual([200, '10', ''])
})

test('content that the project has is attached at once, and in another project its bytes are needed', async () => {
  const bytes = randomBytes(1000)
  await put('a.bin', bytes)
  const again = await declare(stage.member.reporter, [declaration('b.bin', bytes)], 'others')
  expect(again.body.items).toEqual([
    { path: 'b.bin', sha256: sha256(bytes), state: 'stored', upload_url: null },
  ])
  const elsewhere = await declare(stage.batchOwner.reporter, [declaration('c.bin', bytes)], 'shown')
  expect(elsewhere.body.items[0].state).toBe('missing')
  expect((await call('GET', '/api/batches/shown/files/c.bin')).status).toBe(404)
  expect(await put('c.bin', bytes, 'shown')).toMatchObject({ state: 'missing' })
  expect((await call('GET', '/api/batches/shown/files/c.bin')).status).toBe(200)
})

test('bytes with another hash are refused, and their upload is void', async () => {
  const { reporter } = stage.batchOwner
  const { body } = await declare(reporter, [declaration('lie.bin', 'truth')])
  const url = body.items[0].upload_url
  const answer = await patch(stage.app, reporter, url, 0, 'false')
  expect([answer.status, answer.body.code]).toEqual([409, 'content_mismatch'])
  expect((await head(stage.app, reporter, url)).status).toBe(404)
  expect((await patch(stage.app, reporter, url, 0, 'truth')).body.code).toBe('upload_not_found')
  const second = await declare(reporter, [declaration('lie.bin', 'truth')])
  expect(second.body.items[0].upload_url).not.toBe(url)
  await put('lie.bin', 'truth')
  expect((await call('GET', '/api/batches/runs/files/lie.bin', { token: reporter })).status).toBe(403)
})

test('one upload serves every path, and a path takes its new content when that has arrived', async () => {
  const { reporter, token } = stage.batchOwner
  const get = async (path: string) => (await call('GET', `/api/batches/runs/files/${path}`, { token })).body
  await put('live.txt', 'first')
  const { body } = await declare(reporter, [
    declaration('live.txt', 'second'),
    declaration('copy.txt', 'second'),
  ])
  const [one, other] = body.items
  expect(one.upload_url).toBe(other.upload_url)
  expect(await get('live.txt')).toBe('first')
  const { files: waiting } = (await call('GET', '/api/batches/runs/delivery', { token })).body
  expect(waiting).toMatchObject({ missing: 2, missing_bytes: 12 })
  await patch(stage.app, reporter, one.upload_url, 0, 'second')
  expect([await get('live.txt'), await get('copy.txt')]).toEqual(['second', 'second'])
  const { files } = (await call('GET', '/api/batches/runs/delivery', { token })).body
  expect(files).toMatchObject({ missing: 0, missing_bytes: 0 })
  expect(files.bytes).toBeGreaterThan(300_000)
})

test('an empty file needs no upload', async () => {
  expect(await put('empty', '')).toMatchObject({ state: 'stored', upload_url: null })
  const answer = await call('GET', '/api/batches/runs/files/empty', { token: stage.owner.token })
  expect([answer.status, answer.body, answer.headers['content-length']]).toEqual([200, '', '0'])
})

test('what is too large, of impossible size or wrongly named is refused, and nothing of it is stored', async () => {
  const { reporter, token } = stage.batchOwner
  const refused = async (files: unknown[]) => {
    const { status, body } = await declare(reporter, [declaration('kept.bin', 'x'), ...files])
    return [status, body.code, body.errors?.[0]?.path]
  }
  const file = declaration('a', 'abc')
  expect(await refused([{ ...file, size: 5 * 1024 ** 3 + 1 }])).toEqual([
    413,
    'file_too_large',
    'files.1.size',
  ])
  expect(await refused([{ ...file, size: 0 }])).toEqual([422, 'invalid_body', 'files.1.size'])
  expect(await refused([{ ...file, size: -1 }])).toEqual([422, 'invalid_body', 'files.1.size'])
  expect(await refused([{ ...file, sha256: file.sha256.toUpperCase() }])).toEqual([
    422,
    'invalid_body',
    'files.1.sha256',
  ])
  expect(await refused([{ ...file, media_type: 'html' }])).toEqual([
    422,
    'invalid_body',
    'files.1.media_type',
  ])
  expect(await refused([file, file])).toEqual([422, 'invalid_body', 'files.2.path'])
  expect((await declare(reporter, Array(1001).fill(file))).status).toBe(422)
  expect((await declare(reporter, [])).status).toBe(422)
  const { body } = await declare(reporter, [declaration('much.bin', 'abcd')])
  const answer = await patch(stage.app, reporter, body.items[0].upload_url, 0, 'abcdef')
  expect([answer.status, answer.body.code]).toEqual([413, 'file_too_large'])
  const list = await call('GET', '/api/batches/runs/files?prefix=kept', { token })
  expect(list.body.items).toEqual([])
})

test('tus is spoken in version 1.0.0 only, with its media type and an offset', async () => {
  const { reporter } = stage.batchOwner
  const { body } = await declare(reporter, [declaration('tus.bin', 'abcd')])
  const url = body.items[0].upload_url
  const old = await patch(stage.app, reporter, url, 0, 'abcd', { 'tus-resumable': '0.2.2' })
  expect([old.status, old.headers['tus-version'], old.headers['tus-resumable']]).toEqual([
    412,
    '1.0.0',
    '1.0.0',
  ])
  const json = await patch(stage.app, reporter, url, 0, '{}', { 'content-type': 'application/json' })
  expect([json.status, json.body.code]).toEqual([415, 'unsupported_media_type'])
  const none = await patch(stage.app, reporter, url, 0, 'abcd', { 'upload-offset': 'x' })
  expect(none.status).toBe(400)
  expect((await patch(stage.app, reporter, url, 0, 'abcd')).status).toBe(204)
  expect((await patch(stage.app, reporter, url, 4, '')).status).toBe(204)
})

test('files are deleted by those who may delete their batch, and that is in the audit log', async () => {
  await put('gone.txt', 'gone')
  const url = '/api/batches/runs/files/gone.txt'
  const as = (token: string) => call('DELETE', url, { token })
  expect((await as(stage.member.token)).status).toBe(403)
  expect((await as(stage.batchOwner.reporter)).status).toBe(403)
  expect((await as(stage.stranger.token)).status).toBe(404)
  expect((await as(stage.owner.token)).status).toBe(204)
  expect((await as(stage.owner.token)).status).toBe(404)
  const log = await call('GET', '/api/admin/audit?action=file.deleted', { token: stage.admin.token })
  expect(log.body.items).toMatchObject([
    { subject: 'batch:runs', detail: { path: 'gone.txt', sha256: sha256('gone'), size: 4 } },
  ])
})

test('files of a batch in the trash are kept, unseen, and come back with it', async () => {
  const token = stage.batchOwner.token
  await put('kept.txt', 'kept', 'others')
  await call('DELETE', '/api/batches/others', { token })
  expect((await call('GET', '/api/batches/others/files/kept.txt', { token })).status).toBe(404)
  expect(await put('later.txt', 'later', 'others')).toMatchObject({ state: 'missing' })
  await call('POST', '/api/batches/others/restore', { token })
  for (const path of ['kept', 'later'])
    expect((await call('GET', `/api/batches/others/files/${path}.txt`, { token })).body).toBe(path)
})

test('images are shown in place by their content', async () => {
  await put('plots/one.bin', PNG)
  const answer = await call('GET', '/api/batches/runs/files/plots/one.bin', { token: stage.viewer.token })
  expect(answer.headers['content-type']).toBe('image/png')
  expect(answer.headers['content-disposition']).toBeUndefined()
  const saved = await call('GET', '/api/batches/runs/files/plots/one.bin?download=true', {
    token: stage.viewer.token,
  })
  expect(saved.headers['content-disposition']).toContain('attachment')
})

test('a list goes on where its page ended', async () => {
  const paths: string[] = []
  let cursor = ''
  do {
    const { body } = await call('GET', `/api/batches/runs/files?limit=3${cursor}`, {
      token: stage.owner.token,
    })
    paths.push(...body.items.map((file: { path: string }) => file.path))
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
  } while (cursor !== '')
  expect(paths.length).toBeGreaterThan(6)
  expect(paths).toEqual([...new Set(paths)].sort())
})
