import { batchAt } from './batch-parts.ts'
import { get, getBytes, type Page, remove } from './request.ts'

/** A file whose content has arrived. */
export interface StoredFile {
  path: string
  sha256: string
  size: number
  media_type: string
  job_id: string | null
  created_at: string
  url: string
}
/** The files of a batch or share. */
export interface FileSource {
  page: (
    wanted: { cursor?: string | undefined; limit?: number },
    signal?: AbortSignal,
  ) => Promise<Page<StoredFile>>
  /** Where all are as one ZIP. */
  zip: string
}

const PAGE = 500
const sourceAt = (path: string): FileSource => ({
  page: ({ cursor, limit = PAGE }, signal) => get(path, { cursor, limit }, signal),
  zip: `${path}.zip`,
})

export const filesOf = (batchId: string): FileSource => sourceAt(`${batchAt(batchId)}/files`)
export const sharedFilesOf = (token: string): FileSource =>
  sourceAt(`/api/shared/${encodeURIComponent(token)}/files`)

/** The text of a file of a batch; null if there is none of that path. */
export async function fetchFileText(batchId: string, path: string): Promise<string | null> {
  const { items } = await get<Page<StoredFile>>(`${batchAt(batchId)}/files`, { prefix: path, limit: 1 })
  const [file] = items
  return file?.path === path ? new TextDecoder().decode(await getBytes(file.url, '*/*')) : null
}

/** @param url of a file of a batch */
export const deleteFile = (url: string): Promise<void> => remove(url)
