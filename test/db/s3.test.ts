import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openS3, type S3Folder } from '../../src/db/s3.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-s3-'))
let server: S3rver
let s3: S3Folder
beforeAll(async () => {
  server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: folder,
    configureBuckets: [{ name: 'runs', configs: [] }],
  })
  const { port } = (await server.run()) as AddressInfo
  s3 = await openS3('s3://runs/of lab', {
    endpoint: `http://127.0.0.1:${port}`,
    region: undefined,
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
  })
})
afterAll(async () => {
  s3?.close()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function listed(of: string): Promise<string[]> {
  const names: string[] = []
  for await (const name of s3.list(of)) names.push(name)
  return names
}

test('an object of unknown length, written in chunks across part boundaries, is read back byte for byte', async () => {
  const sent = createHash('sha256')
  const piece = randomBytes(5_000_000)
  async function* content() {
    for (let i = 0; i < 8; i++) {
      piece[0] = i
      sent.update(piece)
      yield Buffer.from(piece)
    }
  }
  await s3.upload('base/large', content())
  const got = createHash('sha256')
  for await (const chunk of (await s3.open('base/large')) ?? []) got.update(chunk)
  expect(got.digest('hex')).toBe(sent.digest('hex'))
  expect(await s3.sizeOf('base/large')).toBe(40_000_000)
})

test('a failed upload leaves no object, and an empty one is an empty object', async () => {
  async function* broken() {
    yield randomBytes(20_000_000)
    throw new Error('the disk is gone')
  }
  await expect(s3.upload('wal/broken', broken())).rejects.toThrow('the disk is gone')
  expect(await s3.open('wal/broken')).toBe(undefined)
  await s3.upload('wal/empty', (async function* () {})())
  expect(await s3.get('wal/empty')).toEqual(Buffer.alloc(0))
  expect(await listed('wal')).toEqual(['wal/empty'])
})
