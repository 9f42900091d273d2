import { fileURLToPath } from 'node:url'
import type { S3Settings } from '../db/s3.ts'
import { folderStore } from './folder-store.ts'
import type { ObjectStore } from './object-store.ts'
import { s3Store } from './s3-store.ts'

export interface StoreSettings {
  /** file:///folder or s3://bucket/prefix */
  url: string
  s3: S3Settings
}

export async function openStore({ url, s3 }: StoreSettings): Promise<ObjectStore> {
  return new URL(url).protocol === 'file:' ? folderStore(fileURLToPath(url)) : s3Store(url, s3)
}

/** A store that is opened when it is first needed: one that is away keeps no server from its start. */
export function openStoreLater(settings: StoreSettings): {
  open(): Promise<ObjectStore>
  close(): Promise<void>
} {
  let opening: Promise<ObjectStore> | undefined
  return {
    open() {
      opening ??= openStore(settings)
      return opening
    },
    close: async () => (await opening)?.close(),
  }
}
