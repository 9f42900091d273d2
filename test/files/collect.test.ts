import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { declaration, patch, putFile } from './sending-files.ts'

/** How far ahead the clock of a sweep is; sessions would end if that of requests moved too. */
let ahead = 0
let sweeping = false
let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, { now: () => new Date(Date.now() + (sweeping ? ahead : 0)) })
  await stage.send(stage.batchOwner, [makeEvent('batch_start', { batch_id: 'runs' })])
})
afterAll(() => stage?.stop())

const call = (...args: Parameters<Stage['app']['call']>) => stage.app.call(...args)
const put = (path: string, bytes: string) =>
  putFile(stage.app, { token: stage.batchOwner.reporter, batch: 'runs' }, path, bytes)
const objects = () =>
  readdirSync(fileURLToPath(stage.app.config.files.url), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('/content')).length
const HOUR = 3_600_000
async function sweepAfter(hours: number): Promise<void> {
  ahead += hours * HOUR
  sweeping = true
  await stage.app.runTask('sweep')
  sweeping = false
}

test('content goes 24 hours after its last reference, and not while another file has it', async () => {
  await put('a.txt', 'shared')
  await put('b.txt', 'shared')
  await put('c.txt', 'alone')
  expect(objects()).toBe(2)
  const token = stage.owner.token
  for (const path of ['a', 'c']) await call('DELETE', `/api/batches/runs/files/${path}.txt`, { token })
  await sweepAfter(1)
  await sweepAfter(22)
  expect(objects()).toBe(2)
  await sweepAfter(3)
  expect(objects()).toBe(1)
  expect((await call('GET', '/api/batches/runs/files/b.txt', { token })).body).toBe('shared')
  // What is attached again in time stays.
  await call('DELETE', '/api/batches/runs/files/b.txt', { token })
  await sweepAfter(1)
  expect(await put('d.txt', 'shared')).toMatchObject({ state: 'stored' })
  await sweepAfter(48)
  expect((await call('GET', '/api/batches/runs/files/d.txt', { token })).body).toBe('shared')
  // Collected content is sent again, also by a user whose upload of it is still known.
  expect(await put('c.txt', 'alone')).toMatchObject({ state: 'missing' })
  expect((await call('GET', '/api/batches/runs/files/c.txt', { token })).body).toBe('alone')
})

test('an upload that is not continued for 24 hours goes with its bytes', async () => {
  const { reporter } = stage.batchOwner
  const before = objects()
  const body = { files: [declaration('half.txt', 'half of it')] }
  const declared = await call('POST', '/api/batches/runs/files', { token: reporter, body })
  const url = declared.body.items[0].upload_url
  await patch(stage.app, reporter, url, 0, 'half')
  expect(objects()).toBe(before + 1)
  await sweepAfter(48)
  expect(objects()).toBe(before)
  expect((await patch(stage.app, reporter, url, 4, ' of it')).status).toBe(404)
})

test('the files of a purged batch go with it', async () => {
  await stage.send(stage.batchOwner, [makeEvent('batch_start', { batch_id: 'purged' })])
  await putFile(stage.app, { token: stage.batchOwner.reporter, batch: 'purged' }, 'p.txt', 'purged')
  await call('DELETE', '/api/batches/purged', { token: stage.owner.token })
  await sweepAfter(24 * 31)
  await sweepAfter(25)
  const hash = createHash('sha256').update('purged').digest()
  expect(await stage.app.sql`select from contents where sha256 = ${hash}`).toHaveLength(0)
  const again = await call('POST', '/api/batches/purged/files', {
    token: stage.batchOwner.reporter,
    body: { files: [declaration('p.txt', 'purged')] },
  })
  expect(again.status).toBe(404)
})
