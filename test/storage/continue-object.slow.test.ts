import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import S3rver from 's3rver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contentOf, type ObjectStore, openStore } from '../../src/storage/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-objects-'))
let server: S3rver
const stores = new Map<string, ObjectStore>()
beforeAll(async () => {
  server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: join(folder, 's3'),
    configureBuckets: [{ name: 'runs', configs: [] }],
  })
  const { port } = (await server.run()) as AddressInfo
  const s3 = {
    endpoint: `http://127.0.0.1:${port}`,
    region: undefined,
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
  }
  stores.set('folder', await openStore({ url: pathToFileURL(join(folder, 'files')).href, s3 }))
  stores.set('S3', await openStore({ url: 's3://runs/files', s3 }))
})
afterAll(async () => {
  for (const store of stores.values()) store.close()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function names(store: ObjectStore): Promise<string[]> {
  const found: string[] = []
  for await (const name of store.list('1')) found.push(name)
  return found
}

describe.each(['folder', 'S3'])('an object in a %s', (kind) => {
  const open = () => stores.get(kind) as ObjectStore
  const bytes = randomBytes(20_000_000)

  test('is written over several connections, and read back whole and in ranges', async () => {
    const store = open()
    let progress: { offset: number; state: unknown } = { offset: 0, state: null }
    for (const end of [1_000_000, 1_000_001, 13_000_000, bytes.length]) {
      const writer = await store.continueObject('1/a', progress)
      for (let at = progress.offset; at < end; at += 1_500_000)
        await writer.write(bytes.subarray(at, Math.min(end, at + 1_500_000)))
      if (end === bytes.length) await writer.finish()
      else {
        // A database keeps it as JSON.
        progress = JSON.parse(JSON.stringify(await writer.suspend()))
        expect(progress.offset).toBe(end)
      }
    }
    const name = contentOf('1/a')
    expect(await store.sizeOf(name)).toBe(bytes.length)
    const whole = await store.read(name)
    expect(whole !== undefined && bytes.equals(await buffer(whole))).toBe(true)
    const part = await store.read(name, { from: 8_388_600, to: 8_388_700 })
    expect(part !== undefined && bytes.subarray(8_388_600, 8_388_701).equals(await buffer(part))).toBe(true)
    expect(await names(store)).toEqual([name])
    expect(await store.read(contentOf('1/none'))).toBeUndefined()
    await store.discard('1/a', null)
    expect(await names(store)).toEqual([])
  })

  test('continues from what was noted last, if its writer ended without a word', async () => {
    const store = open()
    const first = await store.continueObject('1/b', { offset: 0, state: null })
    await first.write(bytes.subarray(0, 9_000_000))
    const noted = JSON.parse(JSON.stringify(await first.flush()))
    expect(noted.offset).toBeGreaterThan(8_000_000)
    await first.write(bytes.subarray(9_000_000, 12_000_000))
    await first.abandon()
    const second = await store.continueObject('1/b', noted)
    await second.write(bytes.subarray(noted.offset, 10_000_000))
    await second.finish()
    const whole = await store.read(contentOf('1/b'))
    expect(whole !== undefined && bytes.subarray(0, 10_000_000).equals(await buffer(whole))).toBe(true)
    await store.discard('1/b', null)
  })

  test.each([
    1_000_000, 9_000_000,
  ])('is continued at byte %d though a process finished it and ended', async (at) => {
    const store = open()
    const whole = bytes.subarray(0, 10_000_000)
    const first = await store.continueObject('1/d', { offset: 0, state: null })
    await first.write(whole.subarray(0, at))
    const noted = JSON.parse(JSON.stringify(await first.suspend()))
    for (const attempt of [1, 2]) {
      const writer = await store.continueObject('1/d', noted)
      await writer.write(whole.subarray(noted.offset))
      await writer.finish()
      const read = await store.read(contentOf('1/d'))
      expect(read !== undefined && whole.equals(await buffer(read)), `attempt ${attempt}`).toBe(true)
    }
    expect(await names(store)).toEqual([contentOf('1/d')])
    await store.discard('1/d', null)
  })

  test('is discarded with all of its parts before it is finished', async () => {
    const store = open()
    const writer = await store.continueObject('1/c', { offset: 0, state: null })
    await writer.write(bytes.subarray(0, 9_000_000))
    const { state } = await writer.suspend()
    await store.discard('1/c', state)
    await store.discard('1/c', state)
    expect(await names(store)).toEqual([])
  })
})

test('a folder keeps nothing of what was discarded', () => {
  expect(readdirSync(join(folder, 'files'))).toEqual([])
})
