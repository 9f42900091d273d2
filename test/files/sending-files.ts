import { createHash } from 'node:crypto'
import type { Answer, Client } from '../kit/http.ts'

/** A server of a test, or a client of one. */
type App = Pick<Client, 'call'>

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** A file as its sender declares it. */
export const declaration = (path: string, bytes: Buffer | string, more: Record<string, unknown> = {}) => ({
  path,
  sha256: sha256(bytes),
  size: Buffer.byteLength(bytes),
  ...more,
})

const TUS = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' }

export function patch(
  app: App,
  token: string,
  url: string,
  offset: number,
  body: Buffer | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const bytes = Buffer.from(body)
  return app.call('PATCH', url, {
    token,
    body: bytes,
    headers: {
      ...TUS,
      'upload-offset': String(offset),
      ...headers,
    },
  })
}

export const head = (app: App, token: string, url: string): Promise<Answer> =>
  app.call('HEAD', url, { token, headers: { 'tus-resumable': '1.0.0' } })

/** Declares one file and sends its bytes; returns what the declaration answered. */
export async function putFile(
  app: App,
  { token, batch }: { token: string; batch: string },
  path: string,
  bytes: Buffer | string,
  more: Record<string, unknown> = {},
): Promise<{ state: string; upload_url: string | null }> {
  const declared = await app.call('POST', `/api/batches/${batch}/files`, {
    token,
    body: { files: [declaration(path, bytes, more)] },
  })
  if (declared.status !== 200) throw new Error(`${declared.status} ${JSON.stringify(declared.body)}`)
  const [item] = declared.body.items
  if (item.upload_url !== null) {
    const sent = await patch(app, token, item.upload_url, 0, bytes)
    if (sent.status !== 204) throw new Error(`${sent.status} ${JSON.stringify(sent.body)}`)
  }
  return item
}

/** The smallest PNG: one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
