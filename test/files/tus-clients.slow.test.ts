import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type DetailedError, Upload } from 'tus-js-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { freshEnvironment } from '../../scripts/python.mjs'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { freePort } from '../kit/free-port.ts'
import { type RunningProxy, runNginx } from '../kit/proxy.ts'
import { cuttingProxy } from './cutting-proxy.ts'
import { declaration, head, sha256 } from './sending-files.ts'

// Contract §11 "Files": the real clients of the tus protocol, tus-js-client and tuspy, send to an `upload_url`.

const root = memoryFolder('svc-tus-').path
let stage: Stage
let nginx: RunningProxy
let python: string
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [makeEvent('batch_start', { batch_id: 'runs' })])
  const port = await freePort()
  const folder = join(root, 'nginx')
  mkdirSync(folder)
  // Below a path, which this proxy removes.
  const site = `server { listen 127.0.0.1:${port}; location /monitor/ { proxy_pass ${stage.app.address}/; proxy_http_version 1.1; proxy_request_buffering off; client_max_body_size 0; } }`
  nginx = await runNginx(site, port, folder)
  const bin = await freshEnvironment(join(root, 'tuspy'))
  python = join(bin, 'python')
  await promisify(execFile)(python, ['-m', 'pip', 'install', '--quiet', 'tuspy==1.1.0'])
}, 180_000)
afterAll(async () => {
  await nginx?.stop()
  await stage?.stop()
  rmSync(root, { recursive: true, force: true })
})

interface Sent {
  /** The answer of the refusal, or undefined when all is sent. */
  refused?: { status: number | undefined; text: string }
}
interface SendOptions {
  token?: string
  /** Bytes of one PATCH; without it one request sends all. */
  chunk?: number | undefined
  retries?: number
}
type Send = (url: string, bytes: Buffer, options?: SendOptions) => Promise<Sent>

const sendByJavaScript: Send = (url, bytes, { token = stage.batchOwner.reporter, chunk, retries = 5 } = {}) =>
  new Promise((resolve) => {
    const upload = new Upload(bytes, {
      uploadUrl: url,
      headers: { authorization: `Bearer ${token}` },
      retryDelays: Array.from({ length: retries }, () => 100),
      // Not a file of the client's own: what it could continue is said by the service.
      storeFingerprintForResuming: false,
      ...(chunk === undefined ? {} : { chunkSize: chunk }),
      onSuccess: () => resolve({}),
      onError: (error) => {
        const answer = (error as DetailedError).originalResponse
        resolve({ refused: { status: answer?.getStatus(), text: answer?.getBody() || error.message } })
      },
    })
    upload.start()
  })

const SCRIPT = join(root, 'send.py')
writeFileSync(
  SCRIPT,
  `import json, sys
from tusclient import client
from tusclient.exceptions import TusCommunicationError, TusUploadFailed
base, url, path, token, chunk, retries = sys.argv[1:]
mine = client.TusClient(base, headers={"Authorization": "Bearer " + token})
try:
    sender = mine.uploader(path, url=url, chunk_size=int(chunk) or 2**40, retries=int(retries), retry_delay=0.1, upload_checksum=True)
    sender.upload()
    print("{}")
except (TusCommunicationError, TusUploadFailed) as error:
    content = error.response_content
    text = content.decode() if isinstance(content, bytes) else str(content or error)
    print(json.dumps({"refused": {"status": error.status_code, "text": text}}))
`,
)
let files = 0
const sendByPython: Send = async (
  url,
  bytes,
  { token = stage.batchOwner.reporter, chunk = 0, retries = 5 } = {},
) => {
  const path = join(root, `file-${++files}`)
  writeFileSync(path, bytes)
  const args = [SCRIPT, new URL('/', url).href, url, path, token, String(chunk), String(retries)]
  return JSON.parse((await promisify(execFile)(python, args)).stdout)
}

/** Declares a file. @returns where its bytes are sent, as the service names it */
async function declare(path: string, bytes: Buffer): Promise<string> {
  const body = { files: [declaration(path, bytes)] }
  const answer = await stage.app.call('POST', '/api/batches/runs/files', {
    token: stage.batchOwner.reporter,
    body,
  })
  return answer.body.items[0].upload_url
}

async function storedHash(path: string): Promise<string | undefined> {
  const answer = await fetch(`${stage.app.address}/api/batches/runs/files/${path}`, {
    headers: { authorization: `Bearer ${stage.batchOwner.read}` },
  })
  return answer.status === 200 ? sha256(Buffer.from(await answer.arrayBuffer())) : undefined
}

describe.each([
  ['tus-js-client', sendByJavaScript],
  ['tuspy', sendByPython],
] as const)('%s', (name, send) => {
  const at = (url: string) => new URL(url, stage.app.address).href

  test('sends a file in one request and in pieces, also below a path of nginx', async () => {
    for (const [how, chunk] of [
      ['whole', undefined],
      ['pieces', 70_000],
    ] as const) {
      const bytes = randomBytes(400_000)
      const path = `${name}/${how}`
      expect(await send(at(await declare(path, bytes)), bytes, { chunk })).toEqual({})
      expect(await storedHash(path)).toBe(sha256(bytes))
      const proxied = randomBytes(400_000)
      const url = await declare(`${path}-proxied`, proxied)
      expect(await send(`${nginx.address}/monitor${url}`, proxied, { chunk })).toEqual({})
      expect(await storedHash(`${path}-proxied`)).toBe(sha256(proxied))
    }
  })

  test('continues where the connection was cut, and sends nothing to a complete upload', async () => {
    const bytes = randomBytes(6_000_000)
    const url = await declare(`${name}/cut`, bytes)
    const proxy = await cuttingProxy(stage.app.address, [900_000, 1_500_000, 3_700_000])
    try {
      const cut = new URL(url, proxy.address).href
      expect(await send(cut, bytes, { retries: 40, chunk: 1_000_000 })).toEqual({})
      expect(proxy.cuts).toBe(3)
      expect(await storedHash(`${name}/cut`)).toBe(sha256(bytes))
      expect(await send(cut, bytes)).toEqual({})
    } finally {
      proxy.close()
    }
  })

  test('gets a refusal of bytes with another hash, of too many, and with the token of another', async () => {
    const bytes = randomBytes(50_000)
    const lie = await declare(`${name}/lie`, bytes)
    const wrong = await send(at(lie), randomBytes(50_000), { retries: 0 })
    expect([wrong.refused?.status, wrong.refused?.text]).toEqual([
      409,
      expect.stringContaining('content_mismatch'),
    ])
    expect((await send(at(lie), bytes, { retries: 0 })).refused?.status).toBe(404)

    const small = await declare(`${name}/small`, bytes)
    const many = await send(at(small), Buffer.concat([bytes, bytes]), { retries: 0 })
    expect(many).toEqual({ refused: { status: 413, text: expect.stringContaining('file_too_large') } })
    for (const token of [stage.member.reporter, 'svc_none', stage.batchOwner.read]) {
      const refused = await send(at(small), bytes, { token, retries: 0 })
      expect([401, 403, 404]).toContain(refused.refused?.status)
    }
    expect(await storedHash(`${name}/small`)).toBeUndefined()
    const { headers } = await head(stage.app, stage.batchOwner.reporter, small)
    expect(headers['upload-length']).toBe('50000')
  })
})

test('OPTIONS and every answer say what of tus the service speaks', async () => {
  const bytes = randomBytes(1_000)
  const url = await declare('expires', bytes)
  const options = await stage.app.call('OPTIONS', url)
  expect([options.status, options.headers]).toMatchObject([
    204,
    {
      'tus-resumable': '1.0.0',
      'tus-version': '1.0.0',
      'tus-extension': 'expiration',
      'tus-max-size': String(5 * 1024 ** 3),
    },
  ])
  const { headers } = await head(stage.app, stage.batchOwner.reporter, url)
  const left = Date.parse(headers['upload-expires'] as string) - Date.now()
  expect(left).toBeGreaterThan(23 * 3_600_000)
  expect(left).toBeLessThan(25 * 3_600_000)
  expect(await sendByJavaScript(new URL(url, stage.app.address).href, bytes)).toEqual({})
  const after = await head(stage.app, stage.batchOwner.reporter, url)
  expect([after.headers['upload-offset'], after.headers['upload-expires']]).toEqual(['1000', undefined])
})
