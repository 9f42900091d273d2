import type { Db } from '../../db/sql.ts'
import type { LoggedChange } from '../../stream/log.ts'
import type { ChangePayloads } from '../../stream/payloads.ts'
import { countFiles } from '../files/index.ts'
import { mediaKeysOf } from '../media/index.ts'
import type { Viewer } from './follow.ts'

const batchesOf = (changes: readonly LoggedChange[]): number[] => [
  ...new Set(changes.flatMap((change) => change.batchKey ?? [])),
]

/** `{files}`: how many files the batch has and how many are missing. Anonymous shares show none of them. */
export async function loadFiles(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const counts = await countFiles(db, batchesOf(changes))
  return changes.map(({ batchKey }) => {
    const files = batchKey === null ? undefined : counts.get(batchKey)
    if (files === undefined) return null
    const text = JSON.stringify({ files })
    return { payloadFor: ({ anonymous }) => (anonymous ? undefined : { key: '', text: () => text }) }
  })
}

/** `{media}`: the keys under which the batch has media. */
export async function loadMedia(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const keysOf = await mediaKeysOf(db, batchesOf(changes))
  return changes.map(({ batchKey }) => {
    const keys = batchKey === null ? undefined : keysOf.get(batchKey)
    if (keys === undefined) return null
    const text = JSON.stringify({ media: { keys } })
    return { payloadFor: ({ anonymous }) => (anonymous ? undefined : { key: '', text: () => text }) }
  })
}
