import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compareStore, copyObjects, eachObject } from '../../src/domain/files/index.ts'
import { openStore } from '../../src/storage/index.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { declaration, head, patch, putFile, sha256 } from './sending-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-interrupted-'))
let first: TestApp
let second: TestApp
let token: string
let session: string
beforeAll(async () => {
  first = await startTestApp()
  const person = await first.register()
  session = person.token
  token = await first.reporterToken(session)
  await first.call('POST', '/api/events', { token, body: makeEvent('batch_start', { batch_id: 'runs' }) })
  // Another server of the same database and store.
  second = await startTestApp({ databaseUrl: first.config.databaseUrl as string, files: first.config.files })
})
afterAll(async () => {
  await second?.stop()
  await first?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Sends bytes and cuts the connection, once the service has taken some of them. */
function cut(app: TestApp, url: string, offset: number, bytes: Buffer, length: number): Promise<void> {
  return new Promise((resolve) => {
    const sent = request(new URL(url, app.address), {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${token}`,
        'tus-resumable': '1.0.0',
        'content-type': 'application/offset+octet-stream',
        'upload-offset': offset,
        'content-length': length,
      },
    })
    sent.on('error', () => {})
    sent.on('close', () => resolve())
    sent.write(bytes, () => sent.destroy())
  })
}

/** Where the upload continues, once the service has noticed that the connection is gone. */
async function offsetAfter(app: TestApp, url: string, before: number): Promise<number> {
  for (let i = 0; i < 200; i++) {
    const offset = Number((await head(app, token, url)).headers['upload-offset'])
    if (offset > before) return offset
    await sleep(50)
  }
  throw new Error('nothing of what was sent counts')
}

test('an upload that was cut continues where it was cut, on another server too', async () => {
  const bytes = randomBytes(3_000_000)
  const declared = await first.call('POST', '/api/batches/runs/files', {
    token,
    body: { files: [declaration('cut.bin', bytes)] },
  })
  const url = declared.body.items[0].upload_url
  let offset = 0
  for (const app of [first, second, first]) {
    await cut(app, url, offset, bytes.subarray(offset, offset + 700_000), bytes.length - offset)
    offset = await offsetAfter(second, url, offset)
    expect(offset).toBeLessThan(bytes.length)
  }
  const rest = await patch(second, token, url, offset, bytes.subarray(offset))
  expect([rest.status, rest.body.code]).toEqual([204, undefined])
  const list = await first.call('GET', '/api/batches/runs/files', { token: session })
  expect(list.body.items).toMatchObject([{ path: 'cut.bin', sha256: sha256(bytes), size: bytes.length }])
})

test('twenty uploads at a time arrive whole', async () => {
  const all = Array.from({ length: 20 }, (_, i) => randomBytes(200_000 + i))
  await Promise.all(
    all.map((bytes, i) =>
      putFile(i % 2 === 0 ? first : second, { token, batch: 'runs' }, `many/${i}`, bytes),
    ),
  )
  const list = await second.call('GET', '/api/batches/runs/files?prefix=many/', { token: session })
  const hashes = list.body.items.map((file: { sha256: string }) => file.sha256)
  expect(hashes.sort()).toEqual(all.map(sha256).sort())
})

test('copies of files bring back what a store lost', async () => {
  const store = await openStore(first.config.files)
  const copies = await openStore({ ...first.config.files, url: pathToFileURL(folder).href })
  const { sql } = first
  const copied = await copyObjects(eachObject(sql), { from: store, to: copies })
  expect(copied).toEqual({ copied: 21, missing: [] })
  expect(await copyObjects(eachObject(sql), { from: store, to: copies })).toEqual({ copied: 0, missing: [] })
  expect(await compareStore(sql, store)).toEqual({ objects: 21, missing: [], unknown: 0 })
  const [lost] = await sql<{ object: string }[]>`select object from contents order by key limit 1`
  await store.discard(lost?.object as string, null)
  await store.put('1/left-over/content', Buffer.from('x'))
  expect(await compareStore(sql, store)).toEqual({ objects: 21, missing: [lost?.object], unknown: 1 })
  const answer = await second.call('GET', '/api/batches/runs/files/cut.bin', { token: session })
  expect([answer.status, answer.body.code]).toEqual([503, 'storage_unavailable'])
  await copyObjects(eachObject(sql), { from: copies, to: store })
  expect(await compareStore(sql, store)).toEqual({ objects: 21, missing: [], unknown: 1 })
})
