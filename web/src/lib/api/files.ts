import { batchAt } from './batches.ts'
import { get, remove } from './request.ts'
import type { Page } from './types.ts'

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

/** @param url of a file of a batch */
export const deleteFile = (url: string): Promise<void> => remove(url)
